"""The interface from losses to conic programmes (`LinearPiece`, `LossCones`)."""

from typing import NamedTuple, Protocol

from .._typing import Array


class LinearPiece(NamedTuple):
    """A term of a loss: max over lower <= u <= upper of u s - curvature u^2 / 2.

    Here s = sign (z - offset). ``sign`` and ``offset`` have a value for each row; ``lower`` is
    finite, ``upper`` may be inf.
    """

    sign: Array | float
    offset: Array
    lower: float
    upper: float
    curvature: float = 0.0


class LossCones(Protocol):
    """The mean losses of rows that a conic programme represents by cones.

    `Loss.add_cones` adds those of which a loss consists. The last four functions are for
    programmes of several outputs only, and have the form of a loss of
    `skpd.losses.coupled_outputs`.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        The targets.
    """

    y: Array

    def add_half_squares(self) -> None:
        """Add (z_i - y_i)^2 / 2 for every row."""

    def add_smooth(self) -> None:
        """Add l(y_i, z_i) for every row, of a loss whose evaluator has its second derivative."""

    def add_pieces(self, pieces: list[LinearPiece]) -> None:
        """Add the pieces of a loss that is quadratic in pieces."""

    def add_row_norms(self) -> None:
        """Add ||z - y||_2 for every row."""

    def add_softmax(self) -> None:
        """Add log sum_k exp(z_k) - z_y for every row."""

    def add_largest_scores(self) -> None:
        """Add max_k (z_k + [k is not y]) - z_y for every row."""

    def add_ordered_pinballs(self, quantiles: tuple[float, ...]) -> None:
        """Add the pinball losses of quantiles, subject to z_1 <= z_2 <= ..., for every row."""
