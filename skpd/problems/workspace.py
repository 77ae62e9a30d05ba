"""What is kept from one call to the next."""

from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..designs import DualProducts, DualProductsOfPath
from .rows import Rows

__all__ = ["Workspace"]


class Workspace:
    """Products and factors of the data of a problem, of one run or of the runs along one path.

    Products and matrices depend on the data and the weights alone and are asked for by value: they
    keep the vectors that they are of. So nothing of another problem can reach a proof.

    Parameters
    ----------
    rows : Rows
        The data, the weights and the loss.
    of_path : bool, default=False
        Whether products are those of dual points that follow each other closely; X must then be
        stored by columns.

    Attributes
    ----------
    products : DualProducts
        X' diag(c) theta of dual points, with bounds on their errors.
    gram : WeightedGram or OutputsGram
        The last Gram matrix of weighted rows and some columns, the intercept's included.
    centred : Problem, Array or None
        See `Problem.centred`, once that has been asked for.
    choices : dict
        The methods selected, by the type of the penalty and whether there is a start. They are
        those for the first alpha of a path: another may change which is the fastest, but not
        which apply.
    solved : object
        What the last run of the method of multipliers tells the next one.
    """

    def __init__(self, rows: Rows, of_path: bool = False) -> None:
        design, weights = rows.design, rows.weights
        kind = DualProductsOfPath if of_path else DualProducts
        self.design, self.of_path = design, of_path
        self._given = design, weights, rows.y, rows.loss
        self.products = kind(design, weights)
        self.gram = rows.new_gram()
        self.centred: Any = None
        self.choices: dict[tuple[type, bool], list] = {}
        self.solved: Any = None
        self._predictions: Any = None  # the last, and what of

    def fits(self, rows: Rows) -> bool:
        """Whether it is one of these rows and of their loss."""
        given = rows.design, rows.weights, rows.y, rows.loss
        return all(a is b for a, b in zip(self._given, given, strict=True))

    def predictions(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """X w + b and a bound on its rounding error.

        The last are kept: a solver and, after it, a certificate want the same.
        """
        last = self._predictions
        if last is not None and last[0] == intercept and kernels.equal(last[1], coef):
            return last[2]
        found = self.design.matvec_bounded(coef, intercept)
        for part in found:
            part.flags.writeable = False
        self._predictions = intercept, np.array(coef), found
        return found
