"""Problems in more variables than the coefficients of their models (`Lift`)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._immutable_base import OfKinds
from .._typing import Array, Numbers
from .interfaces import Dual, ProblemParts
from .null_model import NullModel
from .regularisation import Regularisation

if TYPE_CHECKING:
    from .interfaces import Rows


@dataclass(frozen=True, eq=False)
class Lift(OfKinds):
    """The maps between the variables of a problem and the coefficients of a model.

    An objective that is a minimum over further variables is that of an ordinary problem in all of
    them. Methods and certificates are those of that problem. A lower bound on its objective holds
    for every model, and with the best values of the other variables its objective is the model's.

    The maps of this class are those of a problem in the coefficients alone.

    Attributes
    ----------
    n_more : int
        The number of additional variables, which follow the coefficients.
    same_predictions : bool
        Whether a row has the same prediction in the problem and in the model.
    """

    n_more: ClassVar[int] = 0
    same_predictions: ClassVar[bool] = True

    def project(self, variables: np.ndarray) -> np.ndarray:
        """The coefficients of the model, or other numbers for each of them."""
        return variables[: -self.n_more] if self.n_more else variables

    def extend(self, problem: ProblemParts, variables: Array, intercept: Numbers) -> Array:
        """The variables of the problem, with the best values of the additional ones.

        ``variables`` are those of the problem, or the coefficients of the model only.
        """
        return variables

    def regularisation_at(self, regularisation: Regularisation, alpha: float) -> Regularisation:
        """The regularisation of the problem for another alpha."""
        return replace(regularisation, alpha=alpha)

    def null(self, rows: "Rows[Any]", alpha: float) -> NullModel:
        """The best constant prediction."""
        return rows.null

    def largest_alpha(self, problem: ProblemParts) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return float(problem.free.largest_alpha(problem))

    def problem_of_model(self, problem: ProblemParts) -> ProblemParts | None:
        """The problem in the coefficients of the model alone; None where it has no such form."""
        return None

    def in_domain(self, rows: "Rows[Any]", theta: Dual) -> Dual:
        """A dual point near theta that obeys what the optimal values of the variables imply."""
        return theta


IN_COEFFICIENTS = Lift()
