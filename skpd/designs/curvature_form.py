"""The forms in which a curvature is given, and the ridge that rounding errors ask for."""

from enum import Enum, auto

ROUNDING = 1e-12  # ridge that is added to a diagonal, relative to it


class CurvatureForm(Enum):
    """The form in which a curvature is given, by which solvers choose how to minimise."""

    MATRIX = auto()
    COLUMNS = auto()
    BLOCKS = auto()
    PRODUCTS = auto()
    SYSTEM = auto()
