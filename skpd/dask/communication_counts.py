"""The communication of a fit with the workers: rounds and seconds."""

from dataclasses import dataclass


@dataclass
class Communication:
    """The communication of a fit with the workers.

    Attributes
    ----------
    n_rounds : int
        The number of requests to all workers, each of which waits for all answers.
    seconds_waiting : float
        The total time between requests and their last answers.
    workers_lost : int
        The number of workers that were lost during the fit.
    """

    n_rounds: int = 0
    seconds_waiting: float = 0.0
    workers_lost: int = 0
