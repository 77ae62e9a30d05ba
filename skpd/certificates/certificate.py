"""The certificate of a model: an interval that contains the optimal objective value."""

from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import partial
from html import escape
from math import ceil, exp, inf, isfinite, log10
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array, Mask
from .digits import rounded
from .interface import DualVector
from .row_bounds import NOTHING, RowBounds

DIGITS = 6  # digits printed of an objective value, or more where the lower bound shares them
SHOWN = 5  # features that are listed
LARGEST_WIDTH = 1.0  # of intervals of coefficients whose hazard ratios are told
LEAST_PERCENT = 1e-4  # smaller percentages are not shown
# The relative gap up to which a fit counts as finished: a tenth of that from which on the area
# under the ROC curve on other rows hardly changes (the figure gap_and_score of the guide)
FINISHED = 1e-3
WIDTH = 80  # of lines
IN_DICT = (  # the attributes of `Certificate.to_dict`
    "primal", "dual", "gap", "relative_gap", "reference", "kind", "radius", "radius_kind",
    "intercept_radius", "prediction_distance", "decisions_that_may_differ",
)  # fmt: skip
OF_GAP = 2  # number of differing digits that are then printed


@dataclass(frozen=True)
class Certificate:
    """An interval [dual, primal] that contains the optimal objective value.

    Printed bounds are rounded in the direction in which they hold. The function `proven_digits`
    returns the digits of the optimal value that the interval determines.

    Attributes
    ----------
    primal : float
        Objective value of the model.
    dual : float
        A lower bound on the objective value of every model.
    gap : float
        primal - dual, an upper bound on the difference between the objective value of the model
        and the optimal value.
    relative_gap : float
        The gap as a share of what any model could improve on the best constant prediction,
        (primal - dual) / (P_0 - dual) with the objective value P_0 of that constant: 0 is optimal,
        1 means that nothing was learnt, and a model above 1 is worse than the constant. A gap that
        rounding errors of P_0 may cause, some 1e-12 of it, counts as 0. Estimators compare it with
        ``tol``.
    kind : {"exact", "scaling", "lipschitz"}
        The repair that gave the best bound, see `skpd.certificates`.
    radius : float
        The radius B such that R(w) <= B at every optimum, as used by "lipschitz".
    radius_kind : {"monotone", "initial", "coordinate"}
        The objective value P in B = P / alpha: "monotone" for the best value seen, "initial" for
        that of the best constant prediction, which is used until a model is better.
        "coordinate", which has to be requested (see `dual_bound`), stands for the best value and
        a bound on each coefficient.
    intercept_radius : float
        Half the length of an interval that contains every optimal intercept; 0 without an
        intercept.
    coefficient_bounds : ndarray of shape (n_features, 2)
        For each coefficient an interval that contains it in every optimal model. The ends are
        infinite where there is no such bound, as for penalties that are neither sums over
        coefficients or groups nor the l2 or l-infinity norm. The shape is
        (n_outputs, n_features, 2) for several outputs.
    proven_zero : ndarray of bool, of shape (n_features,) or (n_outputs, n_features)
        Mask of the coefficients that are proven to be 0 in every optimal model. No coefficient is
        proven to be 0 for losses with kinks, and for penalties without an l1 norm or groups.
    prediction_distance : float or None
        An upper bound on the root mean square distance, with the weights of the fit, of the
        predictions for the training rows from those of any optimal model: of predictions with the
        squared loss, of vectors of probabilities with the logistic loss and the softmax (for two
        classes, of the probability of one of them). None for other losses.
    decisions_that_may_differ : int or None
        An upper bound on the number of training rows on which the decision differs from that of
        any optimal model. None where it is not known.
    proven_inactive_rows : ndarray of bool, of shape (n_samples,)
        Mask of the training rows that no optimal model depends on: a fit without them, at alpha
        divided by the sum of the other weights, has the same optimum. It is empty where none is
        known; rows can be found for losses with flat parts, such as the hinge loss, and penalties
        with a squared part.
    not_known : dict
        The reason for each of the first two of these that is None.
    left_out : tuple of int
        Features without a penalty that are combinations of others up to rounding. The interval
        contains the optimal value of models whose coefficients there are 0; without this
        restriction the objective may be smaller, by coefficients that amplify rounding errors. A
        fit returns the model with the same predictions whose coefficients have the least norm.
    reference : {"constant", "model", "objective", ""}
        What the relative gap is relative to. Where constraints exclude constants, P_0 is the
        objective value of a feasible model ("model"), or that of this model where no such value
        is above the lower bound ("objective"). For boosting the relative gap is the gap ("").
    row_bounds : object
        The numbers from which these follow (`skpd.certificates.row_bounds`).
    implied_bounds : object or None
        The numbers from which ``coefficient_bounds`` and ``proven_zero`` are computed
        (`skpd.certificates.coefficients`).
    coef_shape : tuple of int
        The shape of ``proven_zero``; (0,) for models without coefficients of features, such as
        kernel machines, and for certificates without ``implied_bounds``.
    each : tuple of Certificate
        The certificates of the problems: only this one, or those of `Certificates`.

    Examples
    --------
    >>> from skpd import Certificate
    >>> print(Certificate(0.5, 0.375, 0.125, 0.25, "scaling", 2.5, 1.0))
    not finished: at most 25 % of the possible improvement can still be gained
    objective 0.5, lower bound 0.375, gap 0.13
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kind: str
    radius: float
    intercept_radius: float
    radius_kind: str = "monotone"
    implied_bounds: Any = field(default=None, compare=False)
    coef_shape: tuple[int, ...] = field(default=(0,), compare=False)
    row_bounds: RowBounds = field(default=NOTHING, compare=False)
    left_out: tuple[int, ...] = ()
    reference: str = "constant"

    @property
    def each(self) -> "tuple[Certificate, ...]":
        return (self,)

    @property
    def coefficient_bounds(self) -> Array:
        bounds = None if self.implied_bounds is None else self.implied_bounds.bounds
        return np.tile([-inf, inf], (*self.coef_shape, 1)) if bounds is None else bounds

    @property
    def proven_zero(self) -> Mask:
        zeros = None if self.implied_bounds is None else self.implied_bounds.zeros
        return np.zeros(self.coef_shape, dtype=bool) if zeros is None else zeros

    @property
    def prediction_distance(self) -> float | None:
        return self.row_bounds.distance(self.gap)

    @property
    def decisions_that_may_differ(self) -> int | None:
        return self.row_bounds.decisions

    @property
    def proven_inactive_rows(self) -> Mask:
        inactive = self.row_bounds.inactive
        return np.zeros(0, dtype=bool) if inactive is None else inactive

    @property
    def not_known(self) -> dict[str, str]:
        return dict(self.row_bounds.reasons)

    def without_arrays(self) -> "Certificate":
        """The certificate without what has the size of the coefficients or of the rows."""
        of_rows = self.row_bounds
        if of_rows.inactive is not None:
            of_rows = replace(of_rows, inactive=None)
        return replace(self, implied_bounds=None, row_bounds=of_rows)

    def __str__(self) -> str:
        lines = [self._status, *self._about, self._numbers]
        return "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in lines if line)

    @property
    def _status(self) -> str:
        """What the relative gap says, in words."""
        if not self.reference:
            return ""
        if self.relative_gap == 0.0:
            return "finished: no model of this kind is better, within rounding errors"
        status = "finished" if self.relative_gap <= FINISHED else "not finished"
        percent = 100.0 * self.relative_gap
        if not (percent < 100.0 or self.reference == "objective"):
            doubt = " Are X, y and weights those of the fit, scaled alike?"
            return f"{status}: no improvement is proven.{doubt if percent > 100.0 else ''}"
        digits = OF_GAP if percent < 99.0 else OF_GAP + 1
        most = f"at most {rounded(percent, digits, ROUND_CEILING)} %"
        if percent <= LEAST_PERCENT:
            most = f"less than {LEAST_PERCENT:g} %"
        if self.reference == "objective":
            return f"{status}: {most} of the objective can still be saved"
        over = " on a feasible model" if self.reference == "model" else ""
        return f"{status}: {most} of the possible improvement{over} can still be gained"

    @property
    def _numbers(self) -> str:
        """The interval with its width."""
        digits = DIGITS
        if 0.0 < self.gap < abs(self.primal):
            digits = max(DIGITS, OF_GAP + 1 + ceil(log10(abs(self.primal) / self.gap)))
        lower = rounded(self.dual, digits, ROUND_FLOOR)
        upper = rounded(self.primal, digits, ROUND_CEILING)
        gap = rounded(self.gap, OF_GAP, ROUND_CEILING)
        return f"objective {upper}, lower bound {lower}, gap {gap}"

    @property
    def _about(self) -> list[str]:
        """What follows for predictions, decisions and coefficients, where that says something."""
        shown = partial(rounded, digits=OF_GAP, rounding=ROUND_CEILING)
        about = self.row_bounds.sentences(self.gap, self.relative_gap, self.primal, shown)
        if self.row_bounds.of_hazards:
            widths = np.subtract(*self.coefficient_bounds.T[::-1])
            factor = exp(min(float(np.max(widths, initial=0.0)), LARGEST_WIDTH))
            if factor <= 2.0:
                about.append(
                    "every hazard ratio of an optimal model is known within a factor of "
                    f"{rounded(factor, OF_GAP + 2, ROUND_CEILING)}"
                )
        if self.left_out:
            features = ", ".join(map(str, self.left_out[:SHOWN]))
            more = f" and {len(self.left_out) - SHOWN} more" if len(self.left_out) > SHOWN else ""
            about.append(
                f"among models without features {features}{more}, which have no penalty and are "
                "combinations of others up to rounding"
            )
        return about

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'; '.join([self._numbers, *self._about])}>"

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the certificate by their names, for JSON and logs.

        Returns
        -------
        values : dict
            Numbers and strings, and None for numbers that are not known or not finite.
        """
        values = {name: getattr(self, name) for name in IN_DICT}
        unknown = {name for name, x in values.items() if isinstance(x, float) and not isfinite(x)}
        return values | dict.fromkeys(unknown)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"  # in notebooks


class DualBound(NamedTuple):
    """A lower bound on the optimal value and the dual point it was computed from.

    The bound has been reduced by ``by_free_sums`` for the sums over free coordinates, and by
    ``conjugate`` for the conjugate of the penalty, or an upper bound on it. ``slopes`` are
    -A' diag(c) theta on the coefficients, and bounds on its errors.
    """

    value: float
    kind: str
    theta: DualVector | None
    radius: float = inf
    intercept_radius: float = inf
    radius_kind: str = "monotone"
    by_free_sums: float = 0.0
    conjugate: float = 0.0
    slopes: tuple[Array, Array] | None = None
