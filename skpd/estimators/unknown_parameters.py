"""What to pass instead of a parameter that an estimator does not have, such as one of a peer."""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

# Parameters of other libraries, one of skpd's, and the advice for what has the latter ("": for
# all). The first row that applies counts; only constructors have tol.
ADVICE = (
    ("C", "metric", "choose alpha by cross-validation, as no formula gives it from C"),
    ("C", "alpha", "pass alpha=1 / (C * n_samples)"),
    ("nu", "alpha", "choose alpha by cross-validation, as no formula gives it from nu"),
    ("l1 l2", "l1_ratio", "pass alpha=l1 + l2 and l1_ratio=l1 / (l1 + l2)"),
    ("lambda lambda_ lam l1 l2 penalizer reg_param reg_alpha reg_lambda", "alpha",
     "pass alpha={name} if the losses are averaged there, alpha={name} / n_samples if summed"),
    ("P1 P2 weights", "penalty_weights", "pass penalty_weights, a number for each feature"),
    ("duration_col event_col entry_col", "strata",
     "pass times and events as columns of y, after entries if there are any, not in X"),
    ("exposure", "", "pass it to fit of PoissonPD, GammaPD or TweediePD, else its log as offset"),
    ("offset sample_weight strata", "tol", "pass it to fit"),
    ("family", "", "choose the class: LogisticPD, PoissonPD, GammaPD, TweediePD, ElasticNetPD"),
    ("link", "", "leave it out, as PoissonPD, GammaPD and TweediePD have a log link"),
    ("normalize", "", "scale the features by make_pipeline(StandardScaler(), {owner}())"),
    ("positive", "bounds", "pass bounds=(0, np.inf)"),
    ("n_alphas", "", "pass alphas=n_alphas"),
    ("alphas Cs", "alpha", "fit PathCV({owner}()), which chooses alpha"),
    ("dual intercept_scaling precompute selection", "", "leave it out, as no solver needs it"),
)  # fmt: skip


def unknown_parameter(owner: str, name: str, known: Collection[str]) -> str:
    """The message for a parameter that is not among the known ones of a class or method."""
    for names, ours, advice in ADVICE:
        if name in names.split() and ours in {"", *known}:
            return f"{owner} has no parameter {name!r}: {advice.format(name=name, owner=owner)}."
    similar = get_close_matches(name, known, n=1)
    hint = f"Did you mean {similar[0]!r}?" if similar else f"It has {', '.join(known)}."
    return f"{owner} has no parameter {name!r}. {hint}"


def require_call(form: Signature, owner: str, /, *values: object, **named: object) -> None:
    """Raise a TypeError, which says what to pass instead, unless a signature takes arguments."""
    try:
        form.bind(*values, **named)
    except TypeError as error:
        known = [name for name in form.parameters if name != "self"]
        unknown = [name for name in named if name not in known]
        if unknown:
            raise TypeError(unknown_parameter(owner, unknown[0], known)) from None
        by_name = [name for name in known if form.parameters[name].kind is Parameter.KEYWORD_ONLY]
        too_many = by_name and "too many positional" in str(error)
        hint = f": pass {by_name[0]} and others by name" if too_many else ""
        raise TypeError(f"{owner}(): {error}{hint}.") from None


def explain(kind: type, name: str) -> None:
    """Let a constructor or `fit`, if a class defines it, explain unknown arguments.

    It is set by name, as editors would take an assignment for the definition of the method.
    """
    if name in vars(kind):
        setattr(kind, name, explained(vars(kind)[name]))


def explained(method: Callable) -> Any:
    """Let a constructor or `fit` that fails check its arguments by `require_call`."""
    form, suffix = signature(method), ".fit" if method.__name__ == "fit" else ""

    @wraps(method)
    def call(self: object, *values: object, **named: object) -> Any:
        try:
            return method(self, *values, **named)
        except TypeError:
            require_call(form, type(self).__name__ + suffix, self, *values, **named)
            raise

    return call
