"""The communication of a fit with the workers: rounds, bytes and seconds."""

from dataclasses import dataclass
from functools import partial

from dask.sizeof import sizeof

from ..designs.sums import BoundedSum, Largest


@dataclass
class Communication:
    """The communication of a fit with the workers.

    Attributes
    ----------
    n_rounds : int
        The number of requests to all workers, each of which waits for all answers.
    bytes_sent, bytes_received : int
        The approximate sizes of requests and answers, summed over the workers.
    seconds_waiting : float
        The total time between requests and their last answers.
    workers_lost : int
        The number of workers that were lost during the fit.
    """

    n_rounds: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds_waiting: float = 0.0
    workers_lost: int = 0


@sizeof.register(BoundedSum)
def _(number: BoundedSum) -> int:
    return sum(map(sizeof, (number.high, number.low, number.error)))


@sizeof.register(Largest)
def _(number: Largest) -> int:
    return int(sizeof(number.value))


@sizeof.register(partial)
def _(request: partial) -> int:
    return int(sizeof(request.keywords))
