"""The targets of survival models: times, events and strata."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..._checks import require_unmasked, shown
from ..._typing import Array, ArrayLike, Indices, PerRow
from ...formulation.validation import finite_targets, require_lengths


def times_and_events(y: ArrayLike, n_samples: int) -> tuple[Array, np.ndarray]:
    """The times, and whether they are those of events, where no sample may enter late.

    Raises
    ------
    ValueError
        As `entries_times_and_events` does, and if y has times of entry.
    """
    entry, time, event = entries_times_and_events(y, n_samples)
    if entry is not None:
        raise ValueError("y must have times and events alone here, got times of entry too.")
    return time, event


def entries_times_and_events(
    y: ArrayLike, n_samples: int
) -> tuple[Array | None, Array, np.ndarray]:
    """The times of entry, if y has them, the times, and whether they are those of events.

    Raises
    ------
    ValueError
        If y has neither two or three such fields nor as many columns, if a time is negative, or
        if a sample leaves before it enters or at once.
    """
    require_unmasked("y", y)
    array = np.asarray(y)
    if array.dtype.names is not None:
        flags = [name for name in array.dtype.names if array.dtype[name].kind == "b"]
        others = [name for name in array.dtype.names if name not in flags]
        if len(flags) != 1 or len(others) not in (1, 2):
            raise ValueError(
                "y must have two fields, bools for events and numbers for times, or a field more "
                "for entries, in front of the one of times, got the fields "
                f"{array.dtype.names}."
            )
        columns = [array[name] for name in (*others, *flags)]
    else:
        if array.ndim != 2 or array.shape[1] not in (2, 3):
            raise ValueError(
                "y must be a structured array or have two columns, time and event, or three, "
                f"entry, exit and event, got the shape {array.shape}."
            )
        columns = list(finite_targets(y, "CoxPD").T)
    *times, events = columns
    if not np.isin(events, (0, 1)).all():
        got = shown(np.unique(events))
        raise ValueError(f"The events in y, its last column, must be 0 or 1, got {got}.")
    times = [check_array(t, ensure_2d=False, dtype=np.float64, input_name="y") for t in times]
    require_lengths(X=range(n_samples), y=events)
    *entry, time = map(np.ascontiguousarray, times)
    if entry and (late := np.flatnonzero(entry[0] >= time)).size:
        pair = f"entry {entry[0][late[0]]:.6g} and exit {time[late[0]]:.6g}"
        raise ValueError(f"The entries in y must be less than the exits, got {pair}.")
    return entry[0] if entry else None, time, np.asarray(events, dtype=bool)


def labels_of_strata(strata: Any, n_samples: int) -> np.ndarray:
    """The labels of the strata as an array, of tuples where there are several columns."""
    of_tuples = isinstance(strata, list) and all(isinstance(label, tuple) for label in strata)
    labels = np.fromiter(strata, dtype=object) if of_tuples else np.asarray(strata)
    if labels.ndim == 2:
        rows = np.asarray(strata, dtype=object).tolist()  # numbers stay numbers beside words
        several = labels.shape[1] > 1
        labels = np.fromiter(map(tuple, rows), dtype=object) if several else labels[:, 0]
    if labels.shape != (n_samples,):
        raise ValueError(f"strata must have the shape {(n_samples,)}, got {labels.shape}.")
    return labels


def labels_and_strata(strata: PerRow, n_samples: int) -> tuple[np.ndarray, Indices]:
    """The labels of the strata in increasing order, and the place of each sample's."""
    if strata is None:
        return np.zeros(1), np.zeros(n_samples, dtype=np.int64)
    labels = labels_of_strata(strata, n_samples)
    missing = labels != labels  # NaN
    if labels.dtype.kind == "O":
        missing = missing | np.equal(labels, np.array(None))
        missing = missing | [
            isinstance(x, tuple) and any(y is None or y != y for y in x) for x in labels
        ]
    if np.any(missing):
        raise ValueError("strata must have a label for each sample, got missing ones.")
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("strata must have labels of one type, which are ordered.") from error


def strata_among(known: list, strata: PerRow, n_samples: int) -> Indices:
    """The place of the stratum of each sample among known labels, by default of the only one."""
    if strata is None and len(known) > 1:
        raise ValueError(f"strata must be given, as the model has the strata {known}.")
    only = known * n_samples
    labels = only if strata is None else labels_of_strata(strata, n_samples).tolist()
    index = {label: k for k, label in enumerate(known)}
    if unknown := set(labels) - index.keys():
        raise ValueError(f"strata must hold one of {known} for each sample, got {unknown}.")
    return np.array([index[label] for label in labels])
