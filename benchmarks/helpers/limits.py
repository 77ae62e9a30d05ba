"""Limits on the processor time of a fit."""

import signal
from contextlib import contextmanager


class GivenUp(BaseException):
    """A fit ran out of time: no Exception, so that nothing on the way catches it."""


@contextmanager
def limited(seconds):
    """Raise `GivenUp` after so many seconds of processor time."""

    def give_up(*_):
        raise GivenUp

    before = signal.signal(signal.SIGPROF, give_up)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
