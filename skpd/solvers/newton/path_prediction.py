"""Prediction of the gradient at the next solution along a path from those at the last ones.

With it, the features that will become active are predicted.
"""

from dataclasses import dataclass

from ..._typing import Array
from .rows import AllRows
from .settings import SETTINGS


@dataclass
class PathSolution:
    """The solution for one alpha of a path, with data for the prediction of the next.

    Attributes
    ----------
    alpha : float
    variables : ndarray
    rows : AllRows
        The rows, at the variables.
    gradient : ndarray
    before : PathSolution or None
    """

    alpha: float
    variables: Array
    rows: AllRows
    gradient: Array
    before: "PathSolution | None"

    def gradient_at(self, alpha: float) -> Array | None:
        """The predicted gradient at the solution for an alpha, or None.

        It is linear in alpha as long as the curvature and the support do not change.
        """
        before = self.before
        if before is None or before.alpha == self.alpha:
            return None
        share = (alpha - self.alpha) / (self.alpha - before.alpha)
        predicted = self.gradient + share * (self.gradient - before.gradient)
        return predicted if 0.0 < share <= SETTINGS.most_change else None
