"""The options of named solvers, which each solver declares where its parameters are."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Literal, Unpack, get_args, get_origin

from sklearn.utils._param_validation import Interval

from ..losses import Loss

Value = bool | float | str | None


@dataclass(frozen=True)
class Option:
    """The allowed values of an option: some values, and the numbers of an interval.

    ``str`` gives the end of a message "must be ...".
    """

    values: tuple[Value, ...]
    interval: Interval | None = None

    def allows(self, value: Value) -> bool:
        """Whether the value is allowed, where True is not 1."""
        if self.interval is not None and not isinstance(value, bool | None):
            return bool(self.interval.is_satisfied_by(value))
        return any(value == v and type(value) is type(v) for v in self.values)

    def __str__(self) -> str:
        if self.interval is None:
            return "one of " + ", ".join(map(repr, self.values))
        return f"{self.interval} or None" if self.values else str(self.interval)


POSITIVE = Interval(Real, 0, None, closed="neither")

# Types of parameters that are options
Flag = Literal[True, False]
Factor = Annotated[float, POSITIVE]
# Which point of a run is the solution: the output of the algorithm, or the best one certified
Output = Literal["algorithm", "best"]
OptionalFactor = Annotated[float | None, POSITIVE]
Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
OptionalCount = Annotated[int | None, Interval(Integral, 1, None, closed="left")]
PositiveShare = Annotated[float, Interval(Real, 0, 1, closed="right")]


def declared_options(solver: Callable[..., None]) -> dict[str, Option]:
    """The options of a solver by name: its parameters of literal values or with an interval."""
    options: dict[str, Option] = {}
    for name, hint in get_annotations(solver).items():
        origin: object = get_origin(hint)
        if origin is Literal:
            options[name] = Option(get_args(hint))
        elif origin is Annotated:
            kind, allowed = get_args(hint)
            nothing = (None,) if NoneType in get_args(kind) else ()
            options[name] = allowed if isinstance(allowed, Option) else Option(nothing, allowed)
        elif origin is Unpack:
            options |= declared_options(*get_args(hint))
    return options


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
