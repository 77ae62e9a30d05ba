"""The properties that every loss declares, of rows or of all scores (`LossProperties`)."""

from math import inf
from typing import ClassVar

from .._immutable_base import OfKinds


class LossProperties(OfKinds):
    """The properties of a convex, non-negative loss with 0 in the domain of its conjugate.

    There are two kinds of losses, with an interface each:

    `skpd.losses.Loss`
        A loss of each row by itself: ``value(y, z)`` has an entry for each prediction, and the
        objective is their weighted mean.
    `skpd.losses.structured.StructuredLoss`
        One loss of all scores together: ``value(z)`` is the objective. Targets and weights belong
        to the loss.

    A class overrides the attributes that do not hold for it by constants, or by properties that
    depend on its parameters. Those from ``conjugate_domain`` on are for losses of rows only.

    Attributes
    ----------
    smoothness : float
        The Lipschitz constant of the derivative of l(y, .), which may be inf.
    has_kinks : bool
        Whether the derivative of l(y, .) jumps.
    linear_tails : bool
        Whether l(y, .) is linear with a slope other than 0 on an interval, where it has
        a gradient but no curvature.
    constant_curvature : bool
        Whether l(y, .) is a parabola.
    can_separate : bool
        Whether the mean loss may fall for ever along directions u of the predictions, and a method
        ``recession`` gives the matrix A of those along which no loss rises: of A (u, t) >= 0, with
        numbers t of the loss itself, such as thresholds. The mean loss falls for ever if an entry
        is positive (Rockafellar, 1970, Section 8).
    of_labels : bool
        Whether y are labels, -1 and 1, and l(y, z) does not increase with y z.
    of_classes : bool
        Whether the predictions of a sample are the scores of classes, and y is 1 for its own
        class and 0 for the others. The loss then stays the same if a number is added to all
        scores of a sample.
    is_log_likelihood : bool
        Whether exp(-l(y, z)) is the probability of y, so that its sum over all labels or classes
        y is 1.
    has_cones : bool
        Whether the loss has a representation by cones, for the interior-point method
        (`add_cones`). Every loss that is quadratic in pieces has one.
    conjugate_domain : tuple of float
        The interval on which phi* is finite.
    lipschitz : float
        The Lipschitz constant of l(y, .), which may be inf.
    dual_is_free : bool
        Whether l*(y, .) is finite everywhere.
    linear_conjugate : bool
        Whether l*(y, .) is linear along every segment [0, theta] of its domain.
    quadratic_conjugate : bool
        Whether l*(y, .) is a parabola along every segment [0, theta] of its domain.
    conjugate_curvature : float or None
        The q with l*(y, theta) = y theta + q theta^2 / 2 on its domain, where there is one.
    piecewise_quadratic : bool
        Whether l(y, .) is linear or a parabola in pieces, as a loss with `pieces` is.
    groups_have_weights : bool
        Whether every row is in one of the `row_groups`, with its own weight.
    of_residuals : bool
        Whether l(y, z) is a function of z - y, whose least value, at 0, is 0.
    couples_outputs : bool
        Whether the loss of a sample depends on several predictions, ``n_outputs`` of them, which
        are side by side in z.
    couples_rows : bool
        Whether the conjugate couples the dual variables of several rows, so that no part of them
        is a problem of its own.
    of_quantiles : bool
        Whether the predictions of a sample are quantiles of one target: the loss is inf where
        they are not in order.
    has_decisions : bool
        Whether the sign or the largest of the predictions of a row decides for a class.
    has_log_link : bool
        Whether the targets are not negative and exp(z) is a prediction of their mean.
    of_hazards : bool
        Whether exp(z) is a hazard, relative to that of others.
    has_offset : bool
        Whether the targets have a second column, of offsets that are added to the predictions.
    target_error : float
        The largest relative error of the targets of a loss of residuals, which bounds include.
    is_compiled : bool
        Whether methods that update one row after the other are compiled for the loss.
    has_newton_steps : bool
        Whether the evaluator takes all Newton steps on a small table in one call.

    Examples
    --------
    >>> from skpd.losses import Hinge, Squared
    >>> Hinge().has_kinks, Squared().has_kinks
    (True, False)
    """

    smoothness: ClassVar[float] = inf
    linear_conjugate: ClassVar[bool] = False
    quadratic_conjugate: ClassVar[bool] = False
    linear_tails: ClassVar[bool] = True
    constant_curvature: ClassVar[bool] = False
    can_separate: ClassVar[bool] = False
    conjugate_curvature: ClassVar[float | None] = None
    groups_have_weights: ClassVar[bool] = True
    of_labels: ClassVar[bool] = False
    of_residuals: ClassVar[bool] = False
    is_log_likelihood: ClassVar[bool] = False
    couples_outputs: ClassVar[bool] = False
    couples_rows: ClassVar[bool] = False
    of_classes: ClassVar[bool] = False
    of_quantiles: ClassVar[bool] = False
    has_decisions: ClassVar[bool] = False
    has_log_link: ClassVar[bool] = False
    of_hazards: ClassVar[bool] = False
    has_offset: ClassVar[bool] = False
    has_cones: ClassVar[bool] = False
    is_compiled: ClassVar[bool] = False
    n_outputs: int = 1
    target_error = 0.0

    @property
    def has_kinks(self) -> bool:
        return not self.smoothness < inf

    @property
    def has_newton_steps(self) -> bool:
        return self.is_compiled and not self.linear_tails
