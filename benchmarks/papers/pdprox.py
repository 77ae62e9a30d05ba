"""An efficient primal dual prox method for non-smooth optimization

Tianbao Yang, Mehrdad Mahdavi, Rong Jin and Shenghuo Zhu, Machine Learning 98, 2015. MEMset Donar,
webspam, covtype, rcv1 and MovieLens are not at hand; School is. ``sequences`` are generated as the
first of them is described: 7 letters, and all their combinations of up to three places, 2,604
features of norm 1 in 63 groups; ``like MovieLens`` are generated ratings. The curves of figures
are replaced by what they show after a number of iterations: the excess of the objective over the
certified optimum, as a share of the objective at w = 0.

**What was claimed.** Pdprox is faster than gradient descent, FOBOS, RDA and accelerated gradients,
and than the excessive gap technique (Pdexg) on groups and ratings, not on tasks; two step sizes
gain a factor of twenty after 150 iterations; few multipliers make it faster, and robust to labels
that are wrong; the error on School is 10.34.

**What we saw.** The order of the methods follows from their steps. The best of 7 ratios of two
steps divides the excess of averages after 150 iterations by 1.3 to 2.2 for the groups and by 5 to
7 for the tasks; on the SVM two steps gain a factor of 2 to 56, the more the larger lambda is, and
on the ratings of 7 to 20.

- Groups: Algorithm 1 with two steps is ahead of gradient descent after 150 iterations and later,
  and ahead of FOBOS and RDA with lambda = 1e-5. RDA is ahead with 1e-3, FOBOS after 150 iterations
  with the hinge loss only, and accelerated gradients are ahead after 1,000 iterations, as is
  agm. Last iterates of Algorithm 3 with two steps are at the optimum by then with lambda = 1e-3.
- Tasks: With its own steps it is behind gradient descent after 150 iterations. With the best two
  steps it is 2 to 34 times as close to the optimum as gradient descent, FOBOS and RDA after 150
  iterations and later, about as close as accelerated gradients after 150 iterations, and behind
  them later.
- Ratings: With its own steps averages of Algorithm 1 are behind FOBOS and RDA after 150
  iterations, with lambda = 1e-5 by little; accelerated gradients are ahead of all of them, and of
  the last iterates of Algorithm 3.
- The excessive gap technique: With equal effects of its two levels Pdexg is behind Pdprox on
  groups and tasks. With the best levels it is ahead of Pdprox with its own steps on tasks and
  ratings, and behind Pdprox with the best two steps after 30 and 150 iterations on all three;
  after 1,000 it is ahead on groups and tasks with lambda = 1e-3.
- Zeros, with lambda = 1e-3: 0.15 of the features of the tasks are zeros with the best two steps,
  none with its own, where the paper has 0.3766; of the generated groups 0.98 are.
- Errors: 10.34 is reached, by the optimum with lambda = 1e-2 over all students, and with the
  paper's 1e-3 by averages of Algorithm 1 stopped after 150 to 200 iterations, as the mean of
  schools. The optimum with 1e-3 or 1e-5 is 0.3 to 0.4 above for all students. Both losses have
  the same errors at the optimum.
- The bounds of Theorem 6 and Corollary 8 are 1.1 to 4.3 times the gap, and 3.0 to 6.7 times the
  excess. Few multipliers make the gap fall faster.
- Both implementations reach the same objectives; figure 7 has their times.

**Why they differ.** The best ratio of steps depends on the data and on lambda, and the paper tunes
a factor of its own steps, which start from an estimate of a norm that is computed here. What
gradients are smoothed by decreases here as 1 / t, and the paper does not say by how much its own
are. Primal steps decide which coefficients become zeros, as they multiply lambda. With few
multipliers the accuracy on wrong labels is that of stopping early: at the optimum of that model
all coefficients are 0.

.. skpd-figure:: paper_pdprox
   :alt: The excess of the objective over iterations, on logarithmic axes, for the breast cancer
         data. With the group lasso and with a squared l2 norm averages fall as one over the
         iterations, last iterates are below them, and two step sizes are below one.

.. list-table::
   :header-rows: 1

   * - of the paper
     - here
   * - Algorithm 1
     - ``solver='pdprox-dual'`` of `~skpd.PdproxSVC` and its relatives
   * - Algorithm 2
     - ``solver='pdprox-primal'``
   * - Algorithm 3
     - ``solver='pdprox-dual'``, ``solver_options={'algorithm': 3}``
   * - Section 4.4, two step sizes; double-primal and double-dual
     - the options ``step_ratio`` and ``implementation``
   * - (18), nonlinear models
     - ``solver='pdprox-dual'`` of `~skpd.KernelPdproxSVC` and `~skpd.MKLClassifier`
   * - (19), few multipliers
     - ``PdproxSVC(noise_budget=m)``
   * - Pdprox-ac
     - the option ``accelerated``
   * - Theorem 6 and Corollary 8
     - below, the bounds beside what they bound
   * - Lemma 3 and Appendix A, the constant c
     - not here: the norm itself is computed
   * - Figure 1
     - the losses of `skpd.losses`
   * - Figure 2
     - below, on generated data
   * - Figure 3, and the errors of section 5.2
     - below, on the School data
   * - Figure 4 (a, b), max-margin factorisation
     - ``MatrixCompletionPD(loss='hinge', thresholds=...)``; below, on generated data
   * - Figure 4 (c, d), MovieLens
     - below, on generated data, with the absolute loss
   * - Figure 5, the excessive gap technique
     - below: groups and ratings on generated data, tasks on the School data
   * - Figure 6, convergence for several m
     - below, as iterations to a gap
   * - Figure 7, double-primal and double-dual
     - below, on generated data
   * - Figure 8
     - below
   * - Table 1
     - below, for a9a
   * - Stochastic and asynchronous updates, left to the future
     - the option ``rows_per_step`` of ``solver='pdprox-primal'``; delays are simulated below
"""

from benchmarks.papers.pdprox_budget import figure_6, table_1, theorem_6
from benchmarks.papers.pdprox_groups import figure_2
from benchmarks.papers.pdprox_pdexg import figure_5_groups, figure_5_ratings, figure_5_tasks
from benchmarks.papers.pdprox_ratings import figure_4
from benchmarks.papers.pdprox_svm import figure_7, figure_8
from benchmarks.papers.pdprox_tasks import figure_3, figure_3_errors
from benchmarks.papers.pdprox_thresholds import figure_4_thresholds
from benchmarks.papers.staleness import stale_pdprox
from benchmarks.papers.stochastic import stochastic_pdprox

RESULTS = {
    "Theorem 6": theorem_6,
    "Figure 2": figure_2,
    "Figure 3": figure_3,
    "Figure 3: errors": figure_3_errors,
    "Figure 4 (a, b)": figure_4_thresholds,
    "Figure 4 (c, d)": figure_4,
    "Figure 5 (a, b)": figure_5_groups,
    "Figure 5 (c, d)": figure_5_tasks,
    "Figure 5 (e, f)": figure_5_ratings,
    "Figure 6": figure_6,
    "Figure 7": figure_7,
    "Figure 8": figure_8,
    "Table 1": table_1,
    "Stochastic Pdprox": stochastic_pdprox,
    "Stale gradients in Pdprox": stale_pdprox,
}
