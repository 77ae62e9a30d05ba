"""The options of named solvers, which each solver declares where its parameters are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import get_annotations
from math import inf
from numbers import Integral, Real
from typing import Annotated, Any, get_origin

from ..losses import Loss


class Option(ABC):
    """The set of values of an option; ``str`` gives the end of a message "must be ..."."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Whether the value is allowed."""


class OneOf(Option):
    """An option with one of a few values, compared with their types: True is not 1."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def allows(self, value: Any) -> bool:
        return any(value == v and type(value) is type(v) for v in self.values)

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(value) for value in self.values)


@dataclass(frozen=True)
class Number(Option):
    """An option with a number in an interval, whose brackets are ``ends``, such as "(]"."""

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
    """An option with an integer of at least 1."""

    def allows(self, value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1

    def __str__(self) -> str:
        return "an integer of at least 1"


@dataclass(frozen=True)
class OrNone(Option):
    """An option that may also be None, for which the solver chooses a value."""

    option: Option

    def allows(self, value: Any) -> bool:
        return value is None or self.option.allows(value)

    def __str__(self) -> str:
        return f"{self.option} or None"


BOOLEAN = OneOf(True, False)
POSITIVE = Number(0, inf)

# Annotations of parameters that are options of these kinds
Flag = Annotated[bool, BOOLEAN]
Factor = Annotated[float, POSITIVE]


def declared_options(solver: Callable[..., None]) -> Mapping[str, Option]:
    """The options of a solver by name: its parameters that are annotated with an `Option`."""
    hints = get_annotations(solver).items()
    return {name: hint.__metadata__[0] for name, hint in hints if get_origin(hint) is Annotated}


def require_compiled(loss: Loss, *solvers: str) -> None:
    """Raise an error for a loss written in Python, which compiled methods do not support.

    Raises
    ------
    ValueError
        If the loss is not compiled.
    """
    if not loss.is_compiled:
        raise ValueError(
            f"solver {' or '.join(map(repr, solvers))} needs a loss of skpd.losses, which are "
            f"compiled, got {loss.__class__.__name__}: pass solver='auto', which takes any."
        )
