"""The cache of one run of a solver, or of the runs along a path (`Workspace`)."""

from typing import Any, NamedTuple

from .._typing import Array
from ..penalties import Penalty
from .interfaces import Rows


class Descent(NamedTuple):
    """A solution along a path by gradients, with its predictions.

    Attributes
    ----------
    log_alpha : float
    model : tuple of ndarray
        The coefficients, the intercepts and the predictions without intercepts.
    is_slow : bool
        Whether steps were too slow.
    """

    log_alpha: float
    model: tuple[Array, Array, Array]
    is_slow: bool


class Workspace:
    """Products and Gram matrices that one run, or the runs along one path, keep.

    They depend on the data and the weights only, and are stored with the vectors from which they
    were computed. A cached result is used only if these vectors are equal, so that results of
    another problem cannot enter a proof.

    Parameters
    ----------
    rows : Rows
        The data, the weights and the loss.
    penalty : Penalty
    of_path : bool, default=False
        Whether products are those of dual points that follow each other closely; X must then be
        stored by columns.

    Attributes
    ----------
    products : DualProducts or None
        The products X' diag(c) theta of dual points, with bounds on their errors.
    gram : WeightedGram or OutputsGram
        The last Gram matrix of weighted rows, over some columns and the intercept.
    centred : Problem, Array or None
        The problem with features shifted to mean 0 and the shift, after they are first asked for.
    row_space : Problem, object or None
        The problem in coordinates of the span of the rows, and these (`skpd.solvers.row_space`).
    solved : object
        The state that the method of multipliers passes from one run to the next.
    descents : list of Descent
        The last two solutions of L-BFGS.
    sums : CachedSums or None
        The sums of the last model and dual point of rows in shards.
    """

    def __init__(self, rows: Rows[Any], penalty: Penalty, of_path: bool = False) -> None:
        self.rows: Rows[Any] = rows
        self.of_path = of_path
        self.products = rows.new_products(of_path)
        self.gram = rows.new_gram(penalty)
        self.centred: Any = None
        self.row_space: Any = None
        self.solved: Any = None
        self.descents: list[Descent] = []
        self.sums: Any = None
