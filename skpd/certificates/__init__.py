"""Certificates: lower bounds on the optimal objective value that hold for any dual point.

For every theta in the domain of the conjugate loss and every (w, b), Fenchel-Young gives ::

    P(w, b) >= - sum_i c_i l*(y_i, theta_i) + u.w + s b + alpha R(w),
    u = X' diag(c) theta,    s = sum_i c_i theta_i.

The least value of the right-hand side over a set that contains an optimal (w, b) is a lower bound
on the optimal value. Such a set follows from the best objective value P seen so far: the loss is
non-negative, so that R(w) <= P / alpha at an optimum, and b is in an interval
(`skpd.problems.free_directions`). There are three choices of the dual point and the set:

exact
    All w: subtract the conjugate ``(alpha R)*(-u)``, where it is finite.
lipschitz
    The ball ``R(w) <= P / alpha``: for a norm subtract ``(P / alpha) max(R°(u) - alpha, 0)``.
    For the lasso this is the gap of Dünner et al. (2016). It is finite where ``R°(u) > alpha``
    and the ordinary gap is infinite, which is at nearly every point except the optimum.
scaling
    ``t theta`` in place of theta, with ``t <= alpha / R°(u)``.

For a penalty that does not change when a constant is added to all coefficients (total variation)
the ball is one of coefficients with mean 0. Their mean is treated as an intercept is: it lies in
an interval that follows from the loss (`skpd.problems.free_directions`).

For a coefficient that is not penalised the bound is finite only if ``u_j = 0`` (or if u_j has one
sign, where the coefficient has a bound on one side). So theta is projected onto the box and these
hyperplanes (`skpd.problems.free_features`) and then changed, below its precision, so that the
equations hold exactly. Equations that others imply in exact arithmetic, such as those of all
one-hot features of a category in a model with an intercept, can be left out.

A free intercept requires ``s = 0`` or the interval. The bound is also computed for the projection
of theta onto the box and the hyperplane ``s = 0``. Where the interval is so long that even the
rounding error of s would matter, theta is changed below its precision so that s = 0 exactly
(`skpd.problems.balance`). The equations of u are treated in the same way where the penalty is so
weak that theta would have to be known beyond its precision. The best of all bounds is kept.

No certificate trusts a solver: objective values, u and s are recomputed from the primal and dual
points, with bounds on rounding errors. The errors of products with X are bounded by the sums of
the absolute values of their terms, and along a path by the norms of the columns
(`skpd.designs.dual_products`). Where these bounds would cost more than a hundredth of the gap, the
products are repeated in twice the working precision. (`dual_estimate` is an estimate for the
decisions of solvers, and proves nothing.)
"""

from .bounds import (
    bound_below,
    certificate_of,
    certify_point,
    dual_bound,
    dual_estimate,
    primal_objective,
)
from .certificate import Certificate, DualBound
from .digits import proven_digits
from .relative_gaps import largest_gap, negligible, relative_gap
from .several import Certificates

__all__ = [
    "Certificate",
    "Certificates",
    "DualBound",
    "bound_below",
    "certificate_of",
    "certify_point",
    "dual_bound",
    "dual_estimate",
    "largest_gap",
    "negligible",
    "primal_objective",
    "proven_digits",
    "relative_gap",
]
