"""The parts of scikit-learn 1.7 and later that have no public name, in one place.

Each name says beside it what it is for. Callbacks came with scikit-learn 1.9; before, estimators
have no `set_callbacks`, and their fits report to nobody.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

# all searches over parameters, whose best estimator is looked into
from sklearn.model_selection._search import BaseSearchCV

# rows and columns of arrays, sparse matrices and data frames alike
from sklearn.utils import _safe_indexing

# the number of threads of compiled loops, as scikit-learn's own loops have it
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

# constraints on parameters, of which scikit-learn writes the messages
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

# the picture of an estimator that holds another one, in notebooks
from sklearn.utils._repr_html.estimator import _VisualBlock

# one controller of the thread pools of BLAS, as making another takes milliseconds
from sklearn.utils.parallel import _get_threadpool_controller

# names of features without a check of their number, weights of samples, metadata of some of them,
# and targets beside data that is no array
from sklearn.utils.validation import (
    _check_feature_names,
    _check_method_params,
    _check_y,
    _num_samples,
)

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.utils.validation import _check_sample_weight
except ImportError:  # before scikit-learn 1.9
    from sklearn.utils.validation import _check_sample_weight as _check_any_sample_weight

    def _check_sample_weight(sample_weight: object, X: object, **options: object) -> Any:
        """Check weights as scikit-learn 1.9 does, which refuses weights that are all 0."""
        weights = _check_any_sample_weight(sample_weight, X, **options)
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights

    class _NoCallbacks:
        """A context without callbacks: each task begins, ends and has subtasks unheard."""

        sequential_subtasks = True

        def subcontext(self, **_: object) -> "_NoCallbacks":
            return self

        def call_on_fit_task_begin(self, **_: object) -> "_NoCallbacks":
            return self

        def call_on_fit_task_end(self, **_: object) -> bool:
            return False

        @contextmanager
        def propagate_callback_context(self, _: object) -> Any:
            yield

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Fits whose tasks go unheard."""

        def _init_callback_context(self, **_: object) -> _NoCallbacks:
            return _NoCallbacks()


if TYPE_CHECKING:
    # decorators of scikit-learn, which has no types, as type checkers must see them
    Method = TypeVar("Method", bound=Callable)

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]: ...
    def available_if(check: Callable[[Any], object]) -> Callable[[Method], Method]: ...
    def with_callbacks(method: Method) -> Method: ...

else:
    # `fit` validates parameters once, not again in estimators inside of estimators
    from sklearn.base import _fit_context
    from sklearn.utils._available_if import _AvailableIfDescriptor

    class _Available(_AvailableIfDescriptor):
        """A method of some instances; the error of a check is what users read."""

        def _check(self, obj, owner):
            try:
                super()._check(obj, owner)
            except AttributeError as error:
                cause = error.__cause__
                raise (cause if type(cause) is AttributeError else error) from None

    def available_if(check):
        return lambda method: _Available(method, check, method.__name__)

    try:
        from sklearn.callback import with_callbacks
    except ImportError:

        def with_callbacks(method):
            """The method itself."""
            return method


__all__ = [
    "BaseSearchCV", "CallbackSupportMixin", "HasMethods", "Interval", "InvalidParameterError",
    "Options", "RealNotInt", "StrOptions", "_VisualBlock", "_check_feature_names",
    "_check_method_params", "_check_sample_weight", "_check_y", "_fit_context",
    "_get_threadpool_controller", "_num_samples", "_openmp_effective_n_threads",
    "_safe_indexing", "available_if", "make_constraint", "validate_parameter_constraints",
    "with_callbacks",
]  # fmt: skip
