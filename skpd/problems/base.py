"""What monitors ask of every problem, beside what certificates do."""

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
    """An objective with data and a model to begin with.

    Attributes
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    loss : Loss
        That of a row, or of an entry of the targets.
    no_path : str
        Why its models do not make a path over alpha, and what to do; empty where they do.
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
        """That of the coefficients of a point: (n_features,), or (n_features, n_outputs)."""

    @property
    def n_outputs(self) -> int:
        """How many vectors of coefficients there are."""
        return int(np.prod(self.coef_shape[1:]))

    @property
    def intercept_shape(self) -> tuple[int, ...]:
        """That of the intercept of a point, () for a number."""
        return self.coef_shape[1:]

    def dual_table(self, dual_coef: Array) -> Array:
        """A dual point as estimators have it, what belongs to a sample in a row."""
        return dual_coef

    def in_workspace(self) -> "BaseProblem":
        """The problem as a run wants it, with room for what it keeps."""
        return self

    @property
    def centred(self) -> Any:
        """The problem with features shifted to where solvers do better, if there is one."""
        return None

    def feasible_model(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """A model nearby with a finite objective value: with coefficients that the penalty allows.

        The same model, but for rounding, where it has one.
        """
        return self.penalty.feasible(coef), intercept

    def repaired(self, theta: Any) -> Any:
        """A dual point as it is after `RowsLostError`."""
        return theta

    def expect(self, point: Point) -> None:
        """Hear which point a certificate is about to be asked for.

        Where rows are far away one reading of them may answer for the model and the dual point.
        """

    @property
    @abstractmethod
    def null_point(self) -> Point:
        """The best constant prediction with a dual point."""

    @property
    @abstractmethod
    def null_may_be_optimal(self) -> bool:
        """Whether the dual point of the best constant prediction may be worth a certificate."""

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha from which on the best constant prediction is optimal; nan if none is known."""
        return nan

    @property
    def features_say_nothing(self) -> bool:
        """Whether the best constant is seen to be optimal whatever alpha is, but for rounding."""
        return self.largest_alpha == 0.0

    @abstractmethod
    def estimated_gap(self, point: Point) -> float:
        """The gap of a point by plain sums, for decisions and not as proof; 0 if not known."""

    @abstractmethod
    def dual_point_of(self, coef: Array, intercept: Any) -> Any:
        """The dual point that goes with the predictions of a model."""
