"""Losses that a user writes in Python: values, a conjugate and a derivative, nothing compiled."""

import pickle
import re
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import xlog1py
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from skpd import ElasticNetPDClassifier, MultiTaskPD, PdproxRegressor, PdproxSVC
from skpd import losses as L
from skpd import penalties as R
from skpd.certificates import bound_below
from skpd.designs import Design
from skpd.problems import linear_problem
from tests.oracles.optima import linear_optimum


def in_python(loss, **members):
    """A loss of the package under another name, without its kernel and closed forms."""
    base = L.MarginLoss if isinstance(loss, L.MarginLoss) else L.ResidualLoss
    members |= {
        "conjugate_domain": loss.conjugate_domain,
        "smoothness": loss.smoothness,
        "linear_tails": loss.linear_tails,
        "_phi": lambda self, t: loss._phi(t),
        "_phi_conjugate": lambda self, u: loss._phi_conjugate(u),
        "_phi_derivative": lambda self, t: loss._phi_derivative(t),
    }
    return type(f"Own{type(loss).__name__}", (base,), members)()


class LogCosh(L.ResidualLoss):
    """phi(r) = log(cosh(r))"""

    conjugate_domain = (-1.0, 1.0)
    smoothness = 1.0
    linear_tails = False

    def _phi(self, t):
        return np.logaddexp(t, -t) - np.log(2.0)

    def _phi_conjugate(self, u):
        a = np.clip(u, -1.0, 1.0)
        entropy = 0.5 * (xlog1py(1.0 + a, a) + xlog1py(1.0 - a, -a))
        return np.where(a == u, entropy, np.inf)

    def _phi_derivative(self, t):
        return np.tanh(t)


class QuantileHuber(L.ResidualLoss):
    """The pinball loss for a quantile q, a parabola of height kappa where it has its kink."""

    def __init__(self, q=0.5, kappa=0.3):
        self.q, self.kappa = q, kappa

    conjugate_domain = property(lambda self: (-self.q, 1.0 - self.q))
    smoothness = property(lambda self: 1.0 / self.kappa)

    def _phi(self, t):
        u = self._phi_derivative(t)
        return u * t - 0.5 * self.kappa * u * u

    def _phi_conjugate(self, u):
        inside = (u >= -self.q) & (u <= 1.0 - self.q)
        return np.where(inside, 0.5 * self.kappa * u * u, np.inf)

    def _phi_derivative(self, t):
        return np.clip(t / self.kappa, -self.q, 1.0 - self.q)


class FourthPower(L.ResidualLoss):
    """phi(r) = r^4 / 4, which is neither Lipschitz nor smooth."""

    conjugate_domain = (-np.inf, np.inf)
    linear_tails = False

    def _phi(self, t):
        return 0.25 * t**4

    def _phi_conjugate(self, u):
        return 0.75 * np.abs(u) ** (4.0 / 3.0)

    def _phi_derivative(self, t):
        return t**3


@pytest.fixture(scope="module")
def diabetes(diabetes):
    X, y = diabetes
    return X, y / 50.0  # fourth powers of which are not millions


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :12], y


OURS = [
    L.Squared(), L.Absolute(), L.Pinball(quantile=0.3), L.Huber(delta=0.5),
    L.SquaredEpsilonInsensitive(epsilon=0.2), L.Hinge(), L.SquaredHinge(), L.Logistic(),
]  # fmt: skip
OWN = [*map(in_python, OURS), LogCosh(), QuantileHuber(0.7), FourthPower()]


@pytest.mark.parametrize("loss", OWN, ids=lambda loss: type(loss).__name__)
def test_what_is_found_numerically_is_right(loss):
    """Prox, best constants and level sets, which these classes do not say."""
    assert not loss.is_compiled
    L.check_loss(loss)


@pytest.mark.parametrize("loss", OURS, ids=str)
@pytest.mark.parametrize("penalty", ["l1", R.GroupL2(groups=2), R.L2Norm()], ids=str)
def test_a_loss_of_the_package_under_another_name(loss, penalty, diabetes, cancer):
    margin = isinstance(loss, L.MarginLoss)
    model, (X, y) = (PdproxSVC, cancer) if margin else (PdproxRegressor, diabetes)
    tol = 1e-4 if isinstance(penalty, R.L2Norm) else 1e-7
    ours, own = (
        model(alpha=0.05, penalty=penalty, loss=each, tol=tol).fit(X, y)
        for each in (loss, in_python(loss))
    )
    assert ours.converged_ and own.converged_
    assert_allclose(own.certificate_.primal, ours.certificate_.primal, rtol=tol)
    assert own.certificate_.dual <= ours.certificate_.primal
    assert ours.certificate_.dual <= own.certificate_.primal
    if penalty == "l1" and not loss.linear_tails:
        assert_allclose(own.coef_, ours.coef_, atol=2e-3)


@pytest.mark.parametrize("loss", [LogCosh(), QuantileHuber(0.7), FourthPower()], ids=type)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_new_loss_against_a_quasi_newton_method(loss, penalty, diabetes):
    """L-BFGS-B on w = a - b with a, b >= 0, which makes the l1 norm smooth."""
    X, y = diabetes
    (n, d), alpha = X.shape, 0.05
    model = PdproxRegressor(alpha=alpha, penalty=penalty, loss=loss, tol=1e-8).fit(X, y)

    def objective(x):
        a, b, intercept = x[:d], x[d:-1], x[-1]
        w = a - b
        z = X @ w + intercept
        g = loss._phi_derivative(z - y) / n
        smooth = X.T @ g
        if penalty == "l1":
            value, parts = np.sum(a + b), (smooth + alpha, alpha - smooth)
        else:
            value, parts = 0.5 * w @ w, (smooth + alpha * w, -smooth - alpha * w)
        gradient = np.concatenate([*parts, [g.sum()]])
        return loss._phi(z - y).mean() + alpha * value, gradient

    start = np.append(np.zeros(2 * d), np.median(y))
    bounds = [(0.0, None)] * (2 * d) + [(None, None)]
    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 1e-10}
    found = minimize(objective, start, jac=True, bounds=bounds, options=options)
    certificate = model.certificate_
    assert certificate.dual <= found.fun + 1e-12
    assert_allclose(certificate.primal, found.fun, rtol=1e-7)
    assert_allclose(model.coef_, found.x[:d] - found.x[d:-1], atol=1e-3)


def test_a_new_loss_with_kinks_against_a_linear_programme(diabetes):
    """phi(r) = max(0, r - 0.1, -2 r - 0.4), with the l1 norm."""

    class Lopsided(L.ResidualLoss):
        conjugate_domain = (-2.0, 1.0)

        def _phi(self, t):
            return np.maximum(np.maximum(t - 0.1, -2.0 * t - 0.4), 0.0)

        def _phi_conjugate(self, u):
            inside = (u >= -2.0) & (u <= 1.0)
            return np.where(inside, np.where(u > 0.0, 0.1 * u, -0.2 * u), np.inf)

        def _phi_derivative(self, t):
            return np.where(t > 0.1, 1.0, np.where(t < -0.2, -2.0, 0.0))

    X, y = (some[:150] for some in diabetes)
    (n, d), alpha = X.shape, 0.05
    model = PdproxRegressor(alpha=alpha, loss=Lopsided(), tol=1e-5).fit(X, y)
    # variables a, b >= 0 with w = a - b, the intercept, and the loss of each row
    ones = np.ones((n, 1))
    rows = [np.hstack([s * X, -s * X, s * ones, -np.eye(n)]) for s in (1.0, -2.0)]
    found = linear_optimum(
        np.concatenate([np.full(2 * d, alpha), [0.0], np.full(n, 1.0 / n)]),
        A_ub=np.vstack(rows), b_ub=np.concatenate([y + 0.1, -2.0 * y + 0.4]),
        bounds=[(0.0, None)] * (2 * d) + [(None, None)] + [(0.0, None)] * n,
    )  # fmt: skip
    certificate = model.certificate_
    assert certificate.dual <= found.fun * (1.0 + 1e-9) <= certificate.primal * (1.0 + 2e-9)
    assert certificate.relative_gap <= 1e-5


@pytest.mark.parametrize(
    "penalty", [R.L2Norm(), R.LInf(), R.TotalVariation(), R.L1Ball(1.0)], ids=str
)
def test_penalties_without_newton_steps(penalty, diabetes):
    """What needs the prox of the conjugate alone is left, and the certificate as ever."""
    ours, own = (
        PdproxRegressor(alpha=0.02, penalty=penalty, loss=loss, tol=1e-4).fit(*diabetes)
        for loss in (L.Huber(delta=0.7), in_python(L.Huber(delta=0.7)))
    )
    assert own.converged_ and own.solver_ in ("hybrid-gradient", "multiplier-search")
    assert own.certificate_.dual <= ours.certificate_.primal
    assert_allclose(own.certificate_.primal, ours.certificate_.primal, rtol=2e-4)


@pytest.mark.parametrize("solver", ["pdprox-dual", "pdprox-primal"])
def test_published_methods(solver, cancer):
    X, y = (some[:60] for some in cancer)
    exact = PdproxSVC(alpha=0.05, tol=1e-8).fit(X, y).certificate_
    own = PdproxSVC(alpha=0.05, loss=in_python(L.Hinge()), solver=solver, tol=0.05).fit(X, y)
    assert own.converged_
    assert own.certificate_.dual <= exact.primal <= own.certificate_.primal * (1.0 + 1e-8)


def test_weights_repeat_rows_and_classes_have_models():
    X, y = load_iris(return_X_y=True)
    weights = 1 + np.arange(len(y)) % 3
    loss = in_python(L.SmoothedHinge(mu=0.5))
    weighted = PdproxSVC(alpha=0.05, loss=loss, tol=1e-8).fit(X, y, sample_weight=weights)
    repeated = PdproxSVC(alpha=0.05, loss=loss, tol=1e-8).fit(
        X.repeat(weights, axis=0), y.repeat(weights)
    )
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    ours = PdproxSVC(alpha=0.05, loss=L.SmoothedHinge(mu=0.5)).fit(X, y, sample_weight=weights)
    assert_allclose(weighted.decision_function(X), ours.decision_function(X), atol=0.05)


def test_several_outputs(rng):
    X = rng.normal(size=(60, 5))
    Y = X @ rng.normal(size=(5, 3)) + rng.standard_t(2, size=(60, 3))
    ours, own = (
        MultiTaskPD(alpha=0.1, loss=loss, tol=1e-6).fit(X, Y)
        for loss in (L.Huber(delta=0.7), in_python(L.Huber(delta=0.7)))
    )
    assert own.converged_
    assert_allclose(own.certificate_.primal, ours.certificate_.primal, rtol=2e-6)


def test_copies(diabetes):
    model = PdproxRegressor(alpha=0.05, loss=QuantileHuber(q=0.7)).fit(*diabetes)
    for copy in (clone(model).fit(*diabetes), pickle.loads(pickle.dumps(model))):
        assert_allclose(copy.coef_, model.coef_, rtol=1e-12)


def test_compiled_methods_refuse_it(cancer):
    loss = in_python(L.SmoothedHinge(mu=1.0))
    for options, what in (
        ({"solver": "cd"}, "'cd' needs a smooth loss of skpd.losses"),
        ({"solver": "pdbfw", "l1_radius": 1.0}, "'pdbfw' needs a loss of skpd.losses"),
    ):
        model = ElasticNetPDClassifier(loss=loss, **options)
        with pytest.raises(ValueError, match=rf"{what}.*got .*OwnSmoothedHinge"):
            model.fit(*cancer)


class HalfTheDualNorm(R.Norm):
    """The l1 norm, but for half the dual norm."""

    def value(self, w):
        return R.L1().value(w)

    def prox(self, w, step):
        return R.L1().prox(w, step)

    def dual_norm(self, v):
        return 0.5 * R.L1().dual_norm(v)


class HalfTheConjugate(LogCosh):
    def _phi_conjugate(self, u):
        return 0.5 * super()._phi_conjugate(u)


@pytest.mark.parametrize("wrong", [{"penalty": HalfTheDualNorm()}, {"loss": HalfTheConjugate()}])
def test_a_bound_above_the_objective_is_an_error(wrong, diabetes):
    """It is no gap of 0."""
    X, y = diabetes
    with pytest.raises(ValueError, match=r"inconsistent: a lower bound .* is above .*check_loss"):
        PdproxRegressor(1e-3, **wrong).fit(X, y / np.std(y))


def test_a_bound_that_rounding_puts_above_the_objective_is_cut(diabetes):
    X, y = diabetes
    weights = np.full(len(y), 1.0 / len(y))
    problem = linear_problem(Design(X), y, weights, L.Absolute(), R.L1(), 1.0, True)
    value = problem.null_objective
    assert bound_below(problem, value * (1.0 + 1e-15), value) == value
    assert bound_below(problem, 0.5 * value, value) == 0.5 * value
    with pytest.raises(ValueError, match="inconsistent"):
        bound_below(problem, value * (1.0 + 1e-12), value)


def test_the_documentation(diabetes):
    """The classes of doc/your_own.rst pass their checks, and are certified together."""
    page = Path(__file__).parents[2] / "doc" / "your_own.rst"
    names: dict = {}
    for block in re.findall(r"code-block:: python\n\n((?: {4}.*\n|\n)+)", page.read_text("utf-8")):
        exec(dedent(block), names)
    model = names["model"].set_params(alpha=0.05, penalty=names["LargestTwo"]()).fit(*diabetes)
    assert model.converged_
    sizes = np.sort(np.abs(model.coef_))
    residual = model.predict(diabetes[0]) - diabetes[1]
    value = model.loss._phi(residual).mean() + 0.05 * sizes[-2:].sum()
    assert_allclose(model.certificate_.primal, value, rtol=1e-12)
