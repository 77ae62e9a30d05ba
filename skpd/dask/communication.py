"""What a fit asks of the workers, and what that costs."""

from dataclasses import dataclass

from dask.sizeof import sizeof

from ..designs.sums import BoundedSum, Largest

__all__ = ["Communication"]


@dataclass
class Communication:
    """What a fit has asked of the workers.

    Attributes
    ----------
    n_rounds : int
        How often all workers were asked, and waited for.
    bytes_sent, bytes_received : int
        About what the questions and the answers took, of all workers together.
    seconds_waiting : float
        The time between questions and their last answers.
    workers_lost : int
    """

    n_rounds: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds_waiting: float = 0.0
    workers_lost: int = 0


@sizeof.register(BoundedSum)
def _(found: BoundedSum) -> int:
    return sum(map(sizeof, (found.high, found.low, found.error)))


@sizeof.register(Largest)
def _(found: Largest) -> int:
    return int(sizeof(found.value))
