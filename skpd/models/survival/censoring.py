"""Kaplan-Meier estimates, and the weights of censored samples that follow from them."""

import numpy as np
from sklearn.utils.validation import _num_samples

from ..._typing import Array, ArrayLike, Mask, PerRow
from ...formulation.validation import checked_weights
from .targets import times_and_events


def targets_and_weights(
    y: ArrayLike, sample_weight: PerRow = None
) -> tuple[Array, np.ndarray, Array]:
    """The times, events and weights of samples."""
    time, event = times_and_events(y, _num_samples(y))
    return time, event, checked_weights(sample_weight, time)


def kaplan_meier(at: Array, y: ArrayLike, sample_weight: PerRow, *, of_events: bool) -> Array:
    """The probability of no event, or of no censoring, until given times.

    It is nan after the last time unless it is 0 there.
    """
    time, event, weights = targets_and_weights(y, sample_weight)
    # complex numbers are sorted by their real parts, and equal ones by their imaginary parts
    steps, step = np.unique((time - 1j * event)[weights > 0.0], return_inverse=True)
    mass = np.bincount(step, weights[weights > 0.0])
    at_risk = np.cumsum(mass[::-1])[::-1]
    counts = (steps.imag < 0.0) == of_events
    chances = np.append(1.0, np.cumprod(np.where(counts, 1.0 - mass / at_risk, 1.0)))
    chances = chances[np.searchsorted(steps.real, at, side="right")]
    return np.where((at > steps.real[-1]) & (chances > 0.0), np.nan, chances)


def inverse_of_censoring(
    at: Array, counts: Mask | bool, name: str, y: ArrayLike, sample_weight: PerRow = None
) -> Array:
    """1 / G at times that count, and 0 at others, from the samples y of a parameter."""
    chances = kaplan_meier(at, y, sample_weight, of_events=False)
    if len(unknown := at[counts & ~(chances > 0.0)]):
        what = "times, and those of events before tau,"
        raise ValueError(f"{what} must be before the end of {name}, got {unknown.min():.6g}.")
    return counts / np.where(counts, chances, 1.0)
