"""scikit-learn's own tests of Lasso and ElasticNet with skpd's classes in their places.

The tests are those of the installed package. They are run on subclasses that take ``precompute``,
``selection`` and ``copy_X``, which say how to compute and change no model, and ignore them. What
fails is listed beside the reason, and the exit status is 1 where there is none.
"""

import argparse
import inspect
import os
import sys
import tempfile
from collections import Counter

import pytest
import sklearn.linear_model

from skpd import ElasticNetPD, ElasticNetPDCV, LassoPDCertified, LassoPDCertifiedCV

TESTS = ("test_coordinate_descent", "test_sparse_coordinate_descent")  # of sklearn.linear_model
IGNORED = {"precompute": False, "selection": "cyclic", "copy_X": True}
PLACES = {
    "Lasso": LassoPDCertified,
    "ElasticNet": ElasticNetPD,
    "LassoCV": LassoPDCertifiedCV,
    "ElasticNetCV": ElasticNetPDCV,
}

# why a test does not pass, and how its name begins
REASONS: dict[str, tuple[str, ...]] = {
    "It wants a Gram matrix to be checked, or passed on, which is a parameter that is ignored.": (
        "test_elasticnet_precompute_incorrect_gram",
        "test_overridden_gram_matrix",
        "test_lassoCV_does_not_set_precompute",
    ),
    "It wants more iterations than are needed: Newton steps are fewer than passes.": (
        "test_warm_start_convergence",
    ),
    "It wants a fit that does not converge, which converges here.": (
        "test_enet_coordinate_descent_raises_convergence",
        "test_sparse_enet_coordinate_descent",
    ),
    "It wants a warning that alpha=0 does not converge, which it does here.": (
        "test_lasso_alpha_warning",
    ),
    "It wants an error for numbers up to 1e308, which are fitted and certified here.": (
        "test_enet_nonfinite_params",
    ),
    "It fits with check_input=False, or X overwritten: X is always checked and never changed.": (
        "test_check_input_false",
        "test_enet_copy_X",
        "test_enet_sample_weight_does_not_overwrite_sample_weight",
    ),
    "It wants an error, which there is, in other words.": (
        "test_lassocv_alphas_validation",
        "test_enet_l1_ratio",
    ),
    "It wants the gap of one dual point to all digits; the bound here is another one.": (
        "test_lasso_dual_gap",
    ),
    "It wants more digits than the tolerance of the fits: both are within it.": (
        "test_1d_multioutput",
        "test_path_parameters",
        "test_same_output_sparse_dense_lasso_and_enet_cv",
        "test_enet_ols_consistency",
        "test_enet_float_precision",
    ),
}


def adapter(name, base):
    """A subclass that takes the parameters that it ignores."""
    own = list(inspect.signature(base.__init__).parameters.values())
    more = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value)
        for key, value in IGNORED.items()
    ]

    def __init__(self, *args, **kwargs):
        ignored = {key: kwargs.pop(key, value) for key, value in IGNORED.items()}
        base.__init__(self, *args, **kwargs)
        vars(self).update(ignored)

    __init__.__signature__ = inspect.Signature([*own, *more])
    constraints = base._parameter_constraints | dict.fromkeys(IGNORED, "no_validation")
    members = {"__init__": __init__, "_parameter_constraints": constraints}
    return type(name, (base,), {**members, "__module__": __name__})


class Outcomes:
    """Of every test whether it passed, and the last line of what it says where it did not."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], {}, []

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failed[name] = " ".join(str(crash.message if crash else report.longrepr).split())
        elif report.skipped:
            self.skipped.append(name)
        elif report.when == "call":
            self.passed.append(name)


def reason_of(name):
    """Why a test does not pass, None where that is not known."""
    return next((why for why, starts in REASONS.items() if name.startswith(starts)), None)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks lasso_tests", description=__doc__)
    parser.add_argument("-k", default="", help="which tests, as of pytest")
    options = parser.parse_args(arguments)
    for name, base in PLACES.items():
        adapted = globals()[name] = adapter(name, base)  # by name, so that it pickles
        setattr(sklearn.linear_model, name, adapted)
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"--rootdir={folder}", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
        flags += ["-c", os.devnull, "--no-header", "--tb=line", "-W", "ignore", "-k", options.k]
        with open(os.devnull, "w") as nowhere:
            shown, sys.stdout = sys.stdout, nowhere
            modules = [f"sklearn.linear_model.tests.{module}" for module in TESTS]
            try:
                pytest.main([*flags, "--pyargs", *modules], plugins=[outcomes])
            finally:
                sys.stdout = shown
    n_tests = len(outcomes.passed) + len(outcomes.failed)
    print(f"{len(outcomes.passed)} of {n_tests} pass, {len(outcomes.skipped)} are skipped.")
    reasons = Counter(map(reason_of, outcomes.failed))
    for reason, count in reasons.items():
        print(f"\n{count}: {reason or 'NO REASON KNOWN'}")
        for name, message in outcomes.failed.items():
            if reason_of(name) == reason:
                print(f"  {name}: {message[:150]}")
    sys.exit(1 if None in reasons else 0)
