"""An efficient primal dual prox method for non-smooth optimization

Tianbao Yang, Mehrdad Mahdavi, Rong Jin and Shenghuo Zhu, Machine Learning 98, 2015. MEMset Donar,
webspam, covtype, rcv1 and MovieLens are not at hand. ``sequences`` are generated as the first of
them is described: 7 letters, and all their combinations of up to three places, 2,604 features of
norm 1 in 63 groups. The curves of figures are replaced by what they show after a number of
iterations: the excess of the objective over the certified optimum, as a share of the objective at
w = 0.

**What was claimed.** Pdprox is faster than gradient descent, FOBOS, RDA and accelerated gradients
and, with groups, than the excessive gap technique; two step sizes gain a factor of twenty after
150 iterations; few multipliers make it faster, and robust to labels that are wrong. **What we
saw.** It is ahead of the excessive gap technique at each number of iterations. Two steps gain a
factor of 2 to 55 after 150 iterations, the more the larger lambda is. Few multipliers make the gap
fall faster. FOBOS and RDA are compared with averages of Pdprox in figure 2. With lambda = 1e-3
they are ahead, but for FOBOS with the absolute loss after 1,000 iterations. With 1e-5 and the
hinge loss they are behind after 30 iterations, ahead after 150, and about level after 1,000; with
the absolute loss they are ahead after 30 only, and then 2 to 5 times as far from the optimum.
Accelerated gradients on a loss whose smoothing decreases are ahead of all of these.
**Why they differ.** The best ratio of steps depends on the data and on lambda. With few
multipliers the accuracy on wrong labels is that of stopping early: at the optimum of that model
all coefficients are 0. The first steps of FOBOS and RDA are tuned, as in the paper, and the steps
of Pdprox, which the paper tunes too, are not tuned here.
"""

from benchmarks.papers.pdprox_budget import figure_6, table_1, theorem_6
from benchmarks.papers.pdprox_groups import figure_2
from benchmarks.papers.pdprox_pdexg import figure_5_groups, figure_5_ratings, figure_5_tasks
from benchmarks.papers.pdprox_ratings import figure_4
from benchmarks.papers.pdprox_svm import figure_7, figure_8
from benchmarks.papers.pdprox_tasks import figure_3, figure_3_errors

FIGURE = (
    "The excess of the objective over iterations, on logarithmic axes, for the breast cancer "
    "data. With the group lasso and with a squared l2 norm averages fall as one over the "
    "iterations, last iterates are below them, and two step sizes are below one."
)
CONTENTS = (
    ("Algorithm 1", "``solver='pdprox-dual'`` of `~skpd.PdproxSVC` and its relatives"),
    ("Algorithm 2", "``solver='pdprox-primal'``"),
    ("Algorithm 3", "``solver='pdprox-dual'``, ``solver_options={'algorithm': 3}``"),
    (
        "Section 4.4, two step sizes; double-primal and double-dual",
        "the options ``step_ratio`` and ``implementation``",
    ),
    (
        "(18), nonlinear models",
        "``solver='pdprox-dual'`` of `~skpd.KernelPdproxSVC` and `~skpd.MKLClassifier`",
    ),
    ("(19), few multipliers", "``PdproxSVC(noise_budget=m)``"),
    ("Pdprox-ac", "the option ``accelerated``"),
    ("Theorem 6 and Corollary 8", "below, the bounds beside what they bound"),
    ("Lemma 3 and Appendix A, the constant c", "not here: the norm itself is computed"),
    ("Figure 1", "the losses of `skpd.losses`"),
    ("Figure 2", "below, on generated data"),
    ("Figure 3, and the errors of section 5.2", "below, on the School data"),
    ("Figure 4 (c, d), MovieLens", "below, on generated data, with the absolute loss"),
    (
        "Figure 5, the excessive gap technique",
        "below: groups and ratings on generated data, tasks on the School data",
    ),
    ("Figure 6, convergence for several m", "below, as iterations to a gap"),
    ("Figure 7, double-primal and double-dual", "below, on generated data"),
    ("Figure 8", "below"),
    ("Table 1", "below, for a9a"),
)

RESULTS = {
    "Theorem 6": theorem_6,
    "Figure 2": figure_2,
    "Figure 3": figure_3,
    "Figure 3: errors": figure_3_errors,
    "Figure 4": figure_4,
    "Figure 5 (a, b)": figure_5_groups,
    "Figure 5 (c, d)": figure_5_tasks,
    "Figure 5 (e, f)": figure_5_ratings,
    "Figure 6": figure_6,
    "Figure 7": figure_7,
    "Figure 8": figure_8,
    "Table 1": table_1,
}
