"""Certificates: lower bounds on the optimal objective value that hold for any dual point.

For every theta in the domain of the conjugate loss and every (w, b), Fenchel-Young gives ::

    P(w, b) >= - sum_i c_i l*(y_i, theta_i) + u.w + s b + alpha R(w),
    u = X' diag(c) theta,    s = sum_i c_i theta_i.

The least value of the right-hand side over a set that holds an optimal (w, b) bounds
the optimal value from below. Such a set follows from the best objective value P seen:
the loss is non-negative, so R(w) <= P / alpha there, and b lies in an interval
(`skpd.problems.free_directions`). Three choices of the point and the set:

exact
    All w: subtract the conjugate ``(alpha R)*(-u)``, where it is finite.
lipschitz
    The ball ``R(w) <= P / alpha``: for a norm subtract ``(P / alpha) max(R°(u) - alpha, 0)``.
    For the lasso this is the gap of Dünner et al. (2016), finite also where ``R°(u) > alpha``
    and the ordinary one is infinite: at nearly every point but the optimum.
scaling
    ``t theta`` in place of theta, with ``t <= alpha / R°(u)``.

A penalty that is blind to a constant added to all coefficients (total variation) has its ball
among those of mean 0; their mean lies in an interval that follows from the loss
(`skpd.problems.free_directions`) and enters as the intercept does.

A coefficient that is not penalised needs ``u_j = 0`` (or one sign, with a bound on one side):
theta is projected onto the box and these hyperplanes (`skpd.problems.free_features`) and then
changed, below its precision, so that they hold exactly. Columns that others imply in exact
arithmetic, such as those of one-hot features beside an intercept, need nothing.

A free intercept needs ``s = 0`` or the interval; theta is also tried after projection onto
the box and the hyperplane ``s = 0``, and, where the interval is so long that even the rounding
error of s would matter, after a change below its precision with which s = 0 exactly
(`skpd.problems.balance`). So is u, where the penalty leaves so much room to w that theta would
have to be known beyond its precision. The best of all bounds is kept.

No certificate trusts a solver: objective values, u and s are recomputed from the primal
and dual points, and rounding errors are allowed for: those of products with X by the sums
of the magnitudes of their terms, along a path by the norms of the columns
(`skpd.designs.dual_products`), and where that would cost more than a hundredth of the gap, the
products are repeated in twice the working precision. (`dual_estimate` is what solvers steer
by, and proves nothing.)
"""

from .bounds import (
    bound_below,
    certificate_of,
    certify_point,
    dual_bound,
    dual_estimate,
    primal_objective,
    relative_gap,
)
from .certificate import Certificate, DualBound
from .digits import proven_digits

__all__ = [
    "Certificate",
    "DualBound",
    "bound_below",
    "certificate_of",
    "certify_point",
    "dual_bound",
    "dual_estimate",
    "primal_objective",
    "proven_digits",
    "relative_gap",
]
