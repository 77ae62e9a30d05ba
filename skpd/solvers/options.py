"""What a user may pass to a named solver: each solver declares its options where it is defined."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

from ..losses import Loss

__all__ = [
    "BOOLEAN", "POSITIVE", "Count", "Number", "OneOf", "Option", "OrNone", "declared_options",
    "require_compiled", "takes_options",
]  # fmt: skip

Solver = TypeVar("Solver", bound=Callable[..., None])


class Option(ABC):
    """The values that an option may take; as a string, the end of "must be ..."."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Whether it may be this."""


class OneOf(Option):
    """One of a few values, of the same type: True is not 1."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def allows(self, value: Any) -> bool:
        return any(value == v and type(value) is type(v) for v in self.values)

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(value) for value in self.values)


@dataclass(frozen=True)
class Number(Option):
    """A number between two others; ``ends`` says which of these belong to it."""

    low: float
    high: float
    ends: str = "()"

    def allows(self, value: Any) -> bool:
        if not isinstance(value, Real):
            return False
        number = float(value)
        above = number >= self.low if self.ends[0] == "[" else number > self.low
        return above and (number <= self.high if self.ends[1] == "]" else number < self.high)

    def __str__(self) -> str:
        return f"a number in {self.ends[0]}{self.low}, {self.high}{self.ends[1]}"


class Count(Option):
    """An integer of at least 1."""

    def allows(self, value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1

    def __str__(self) -> str:
        return "an integer of at least 1"


@dataclass(frozen=True)
class OrNone(Option):
    """Another option, or None, with which the solver chooses by itself."""

    option: Option

    def allows(self, value: Any) -> bool:
        return value is None or self.option.allows(value)

    def __str__(self) -> str:
        return f"{self.option} or None"


BOOLEAN = OneOf(True, False)
POSITIVE = Number(0, inf)

_DECLARED: dict[Callable[..., None], Mapping[str, Option]] = {}


def takes_options(**options: Option) -> Callable[[Solver], Solver]:
    """Declares the options of the solver below, keyword-only parameters with defaults."""

    def declare(solver: Solver) -> Solver:
        _DECLARED[solver] = options
        return solver

    return declare


def declared_options(solver: Callable[..., None]) -> Mapping[str, Option]:
    """What a solver has declared, by name; nothing if it has not."""
    return _DECLARED.get(solver, {})


def require_compiled(loss: Loss, *solvers: str) -> None:
    """Refuse a loss of a user's own, for compiled methods that know those of the package.

    Raises
    ------
    ValueError
        If the loss has no compiled kernel.
    """
    if not loss.is_compiled:
        raise ValueError(
            f"solver {' or '.join(map(repr, solvers))} needs a loss of skpd.losses, which are "
            f"compiled, got {type(loss).__name__}: pass solver='auto', which takes any."
        )
