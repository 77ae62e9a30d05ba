"""How a problem is solved, when that is not a matter of the rules for all (`Plan`)."""

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that solves some problems.

    Attributes
    ----------
    name : str
        The name by which `solve` knows the method, and the value of ``solver_``.
    run : callable
        The method, with a `skpd.solvers.solver_context.SolverContext` and options of its own.
    supports : callable
        Whether the method can solve a `skpd.problems.Problem`.
    requires : str
        What a problem that it supports has, such as "an l1 ball".
    is_published : bool, default=False
        Whether the method is a paper's, whose output a solution by its name is: the last iterate,
        or the average that the paper proves something of.
    """

    name: str
    run: Callable[..., None]
    supports: Callable[..., bool]
    requires: str
    is_published: bool = False


class Attempt(NamedTuple):
    """A method that `auto` tries.

    Attributes
    ----------
    key : str
        The key of the method in `skpd.solvers.METHODS`, or in the plan of the problem.
    reason : str
        The reason for trying it at this place.
    budget : float
        The largest cost that it may have, in the units of `skpd.designs.newton_cost`.
    options : dict
        Options of the method.
    """

    key: str
    reason: str
    budget: float = inf
    options: Mapping[str, Any] = MappingProxyType({})


class Plan(NamedTuple):
    """How one family of problems is solved, handed down by whoever makes the problem.

    Attributes
    ----------
    attempts : callable
        The attempts for a `skpd.problems.Problem`, in order, given whether there is a start.
    methods : dict
        The methods that only this family has. They replace others of the same key.
    """

    attempts: Callable[..., list[Attempt]]
    methods: Mapping[str, Method] = MappingProxyType({})
