"""The interface of problems that solvers and monitors use, in addition to `Objective`."""

from abc import abstractmethod
from functools import cached_property
from math import nan
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..certificates.objective import Objective
from ..designs import Design
from ..losses import Loss
from .solution import Point

__all__ = ["BaseProblem"]


class BaseProblem(Objective):
    """An objective with data, a loss and an initial model.

    Attributes
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    loss : Loss
        The loss of a row, or of an entry of the targets.
    no_path : str
        The reason why there is no path of models over alpha, and what to do instead; empty where
        there is a path.
    """

    design: Design
    loss: Loss
    workspace: Any = None
    no_path: ClassVar[str] = ""

    @property
    def n_features(self) -> int:
        return self.design.shape[1]

    @property
    @abstractmethod
    def coef_shape(self) -> tuple[int, ...]:
        """The shape of coefficients, (n_features,) or (n_features, n_outputs)."""

    @property
    def n_outputs(self) -> int:
        """The number of vectors of coefficients."""
        return int(np.prod(self.coef_shape[1:]))

    @property
    def intercept_shape(self) -> tuple[int, ...]:
        """The shape of the intercept, () for a number and (n_outputs,) for several outputs."""
        return self.coef_shape[1:]

    def dual_table(self, dual_coef: Array) -> Array:
        """The dual point in the shape of ``dual_coef_``, with a row for each sample."""
        return dual_coef

    def in_workspace(self) -> "BaseProblem":
        """The problem with a workspace for one run of a solver."""
        return self

    @property
    def centred(self) -> Any:
        """The problem with shifted features, on which solvers converge faster, and the shift.

        None where no shift helps.
        """
        return None

    def feasible_model(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """A model nearby with a finite objective value, whose coefficients the penalty allows.

        The given model is returned, up to rounding, if its objective value is finite.
        """
        return self.penalty.feasible(coef), intercept

    def repaired(self, theta: Any) -> Any:
        """The dual point theta with values for the rows that a `RowsLostError` reported lost."""
        return theta

    def expect(self, point: Point) -> None:
        """Prepare for a certificate of a point.

        Where rows are in files or on other machines, the sums of the model and of the dual point
        can then be computed in one pass over the rows.
        """

    @property
    @abstractmethod
    def null_point(self) -> Point:
        """The best constant prediction, with a dual point."""

    @property
    @abstractmethod
    def null_may_be_optimal(self) -> bool:
        """Whether the best constant prediction may be optimal, so that a certificate is tried."""

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return nan

    @property
    def features_say_nothing(self) -> bool:
        """Whether the best constant is optimal for every alpha, up to rounding errors."""
        return self.largest_alpha == 0.0

    @abstractmethod
    def estimated_gap(self, point: Point) -> float:
        """An estimate of the gap of a point, without bounds on rounding; 0 if it is not known.

        Solvers base decisions on it, and certificates do not use it.
        """

    @abstractmethod
    def dual_point_of(self, coef: Array, intercept: Any) -> Any:
        """The dual point of a model: the gradient of the losses at its predictions."""
