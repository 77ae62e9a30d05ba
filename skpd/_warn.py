"""Warnings that point to the code of the user."""

import sys
import warnings
from functools import partial

from sklearn.exceptions import ConvergenceWarning

LIBRARIES = {"skpd", "sklearn", "joblib"}  # which call estimators for the user


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the first caller that belongs neither to skpd nor to scikit-learn.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


warn_of_convergence = partial(warn, category=ConvergenceWarning)
