"""Real data from the folder that the environment variable SKPD_DATA names."""

import bz2
import os
from pathlib import Path

from sklearn.datasets import load_svmlight_file

WIDTHS = {"a1a": 123, "a9a": 123, "reuters": 8315}


def load(name):
    """(X, y) of a data set, X as CSR."""
    folder = os.environ.get("SKPD_DATA")
    if not folder:
        raise SystemExit("set SKPD_DATA to the folder that holds the data sets")
    with bz2.open(Path(folder) / f"{name}.bz2") as file:
        return load_svmlight_file(file, n_features=WIDTHS[name])
