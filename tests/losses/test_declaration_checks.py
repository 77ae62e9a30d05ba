"""check_loss names what is wrong with a loss, and nothing else."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpd import losses as L
from skpd.losses import declaration_checks as checks


class OwnHuber(L.ResidualLoss):
    """The Huber loss with delta = 1, as a user would write it."""

    conjugate_domain = (-1.0, 1.0)
    smoothness = 1.0

    def _phi(self, t):
        return np.where(np.abs(t) <= 1.0, 0.5 * t * t, np.abs(t) - 0.5)

    def _phi_conjugate(self, u):
        return np.where(np.abs(u) <= 1.0, 0.5 * u * u, inf)

    def _phi_derivative(self, t):
        return np.clip(t, -1.0, 1.0)


class OwnHinge(L.MarginLoss):
    conjugate_domain = (-1.0, 0.0)

    def _phi(self, t):
        return np.maximum(1.0 - t, 0.0)

    def _phi_conjugate(self, u):
        return np.where((u >= -1.0) & (u <= 0.0), u, inf)

    def _phi_derivative(self, t):
        return np.where(t < 1.0, -1.0, 0.0)


class ForgetsAKink(L.Hinge):
    """A subclass of a loss of the package still has its compiled kernel."""

    def prox_conjugate(self, y, theta, step):
        return L.SmoothedHinge(0.5).prox_conjugate(y, theta, step)


@pytest.mark.parametrize("loss", [OwnHuber(), OwnHinge()])
def test_right_losses(loss):
    assert L.check_loss(loss) is None


huber = OwnHuber()
WRONG_LOSSES = {
    "non-negativity": {"_phi": lambda self, t: huber._phi(t) - 1e-3},
    "value at the target": {
        "_phi": lambda self, t: huber._phi(t) + 1.0,
        "_phi_conjugate": lambda self, u: huber._phi_conjugate(u) - 1.0,
    },
    "convexity": {"_phi": lambda self, t: np.log1p(t * t)},
    "subgradient": {"_phi_derivative": lambda self, t: 1.01 * huber._phi_derivative(t)},
    "Lipschitz constant": {"lipschitz": 0.99},
    "smoothness": {"smoothness": 0.99},
    "domain of the conjugate.* 0 is not in it": {"conjugate_domain": (0.5, 1.0)},
    "domain of the conjugate.* subgradient is outside": {"conjugate_domain": (-0.5, 1.0)},
    "domain of the conjugate.* infinite inside": {"conjugate_domain": (-1.0, 2.0)},
    "domain of the conjugate.* finite outside": {"_phi_conjugate": lambda self, u: 0.5 * u * u},
    "Fenchel-Young inequality": {"_phi_conjugate": lambda self, u: 0.9 * huber._phi_conjugate(u)},
    "Fenchel-Young equality": {"_phi_conjugate": lambda self, u: 1.1 * huber._phi_conjugate(u)},
    "prox of the conjugate": {
        "prox_conjugate": lambda self, y, v, step: np.clip(v - step * y, -1.0, 1.0)
    },
    "dual value": {"dual_values": lambda self, y, c, theta, scales: [(0.0, 0.0)] * len(scales)},
    "best constant": {"best_constant": lambda self, y, weights: float(np.mean(y))},
    "constant_interval": {"_residual_interval": lambda self, value: (-value, value)},
    "linear_tails": {"linear_tails": False},
    "constant_curvature": {"constant_curvature": True},
    "linear_conjugate": {"linear_conjugate": True},
    "conjugate_curvature": {"conjugate_curvature": 2.0},
    "pieces": {"pieces": lambda self, y: L.Huber(delta=2.0).pieces(y)},
    "evaluator": {"evaluator": property(lambda self: L.Huber(delta=2.0).evaluator),
               "prox_conjugate": lambda self, *args: L.Huber(delta=1.0).prox_conjugate(*args)},
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_LOSSES)
def test_a_loss_that_is_wrong_in_one_property(what):
    wrong = type("Wrong", (OwnHuber,), WRONG_LOSSES[what])
    with pytest.raises(AssertionError, match=rf"^Wrong fails the test of its {what}.* against "):
        L.check_loss(wrong())


@pytest.mark.parametrize("beyond, fails", [(1e-5, True), (1e-7, False)])
def test_domains_of_conjugates_end_where_they_should(beyond, fails):
    class Wide(OwnHuber):
        def _phi_conjugate(self, u):
            return np.where(np.abs(u) <= 1.0 + beyond, 0.5 * u * u, inf)

    if fails:
        with pytest.raises(AssertionError, match="finite outside"):
            L.check_loss(Wide())
    else:
        L.check_loss(Wide())


def test_a_loss_that_does_not_come_near_0():
    """Its conjugate is -1 at 0, and a parabola from there."""

    class Raised(L.MarginLoss):
        conjugate_domain, smoothness, quadratic_conjugate = (-1.0, 0.0), 2.0, True

        def _phi(self, t):
            return L.SmoothedHinge(0.5)._phi(t) + 1.0

        def _phi_conjugate(self, u):
            return L.SmoothedHinge(0.5)._phi_conjugate(u) - 1.0

        def _phi_derivative(self, t):
            return L.SmoothedHinge(0.5)._phi_derivative(t)

    L.check_loss(Raised())


def test_losses_that_are_wrong_in_other_ways():
    class Rising(OwnHinge):
        def _phi(self, t):
            return np.maximum(1.0 + t, 0.0)

    class Entropy(OwnHinge):
        quadratic_conjugate = True
        conjugate_domain, smoothness = (-1.0, 0.0), 0.25
        _phi, _phi_conjugate = L.Logistic._phi, L.Logistic._phi_conjugate
        _phi_derivative = L.Logistic._phi_derivative
        evaluator = L.Logistic.evaluator

    for wrong, what in (
        (Rising(), "fall in the margin"),
        (Entropy(), "quadratic_conjugate"),
        (ForgetsAKink(), "prox of the conjugate"),
    ):
        with pytest.raises(AssertionError, match=f"test of its {what}"):
            L.check_loss(wrong)


def test_the_message_has_the_point_and_both_numbers():
    wrong = type("Wrong", (OwnHinge,), {"_phi_conjugate": lambda self, u: np.where(
        (u >= -1.0) & (u <= 0.0), 1.5 * u, inf)})()  # fmt: skip
    with pytest.raises(AssertionError) as caught:
        L.check_loss(wrong)
    text = str(caught.value)
    names = ("y", "z", "theta")
    y, z, theta = (float(text.split(f" {name}=")[1].split(",")[0].split(":")[0]) for name in names)
    total, product = map(float, text.rstrip(".").rsplit(": ", 1)[1].split(" against "))
    assert total == pytest.approx(max(1.0 - y * z, 0.0) + 1.5 * y * theta, rel=1e-9)
    assert product == pytest.approx(theta * z, rel=1e-9) and total < product


@pytest.mark.parametrize(
    "loss", [L.Huber(), L.Hinge(), L.Poisson(), L.Gamma(), L.Softmax(3)], ids=repr
)
def test_the_points_of_a_loss(loss):
    """Thousands, of many sizes, with whole distances from the targets."""
    at, K = checks._Points(loss), loss.n_outputs
    y, around, scale = at.y, at.y, 1.0
    assert len(y) == len(at.z) == len(at.x) == len(at.theta) == 4000 * K
    zeros = {L.Huber(): 0.2, L.Poisson(): 0.2}.get(loss, 0.0)
    if loss.of_classes:
        assert_array_equal(y.reshape(-1, K).sum(axis=1), 1.0)
        assert np.all(np.abs(y.reshape(-1, K).mean(axis=0) - 1.0 / K) < 0.05)
    else:
        assert abs(np.mean(y == 0.0) - zeros) < 0.03
    if loss.of_labels:
        assert set(y) == {-1.0, 1.0} and abs(y.mean()) < 0.05
    if loss.of_labels or loss.of_classes or loss.has_log_link:
        around = 0.0
    if loss.has_log_link:
        scale = 1e-2
        assert abs(np.std(np.log(y[y > 0.0])) - 2.0) < 0.1
    for some in (at.x - around, at.z - around):
        sizes = np.abs(some[some != np.round(some)]) / scale
        # a normal number times 1e3^u, with u from -1 to 1
        assert abs(np.median(np.log10(sizes)) + 0.17) < 0.2
        assert abs(np.std(np.log10(sizes)) - np.sqrt(3.0 + 0.23)) < 0.1
    whole = (at.z - around)[np.abs(at.z - around - np.round(at.z - around)) < 1e-9]
    near = whole[np.abs(whole) < 4.0]
    assert set(np.round(near)) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert abs(len(near) / len(y) - 0.1) < 0.03
    names = at.at(z=at.z)
    assert list(names) == ["y", "z"]
    assert names["z"].shape == ((4000, K) if K > 1 else (4000,))


def sizes_of(properties, at):
    """The sizes of terms that the tolerances of properties allow for, by the first word."""
    return {what.split()[0].strip(","): tolerance / checks.ACCURACY - 1.0
            for what, _, _, _, tolerance, _ in properties(at)}  # fmt: skip


@pytest.mark.parametrize("loss", [L.Huber(), L.L2Norm(2)], ids=repr)
def test_allowances_are_the_sizes_of_terms(loss):
    def rows(values):
        return values.reshape(4000, -1).sum(axis=1)

    at = checks._Points(loss)
    y, z, x, theta, g = at.y, at.z, at.x, at.theta, loss.gradient(at.y, at.z)
    value, other = rows(loss.value(y, z)), rows(loss.value(y, x))
    at.rng, share = np.random.default_rng(5), np.random.default_rng(5).random(4000)
    sizes = sizes_of(checks._values, at)
    expected = {
        "convexity": share * value + (1.0 - share) * other,
        "subgradient": value + rows(np.abs(g * (x - z))),
        "Lipschitz": value + other,
        "smoothness": rows(np.abs(g)),
    }
    for name, own in expected.items():
        np.testing.assert_allclose(sizes[name], own, rtol=1e-6)
    *_, inequality, equality, prox = (
        (what, tolerance / checks.ACCURACY - 1.0)
        for what, _, _, _, tolerance, _ in checks._conjugates(at)
        if "Fenchel" in what or "prox" in what
    )
    first = value + rows(np.abs(theta * z)) + rows(np.abs(theta * y))
    np.testing.assert_allclose(inequality[1], first, rtol=1e-6)
    second = value + rows(np.abs(g * z)) + rows(np.abs(g * y))
    np.testing.assert_allclose(equality[1], second, rtol=1e-6)
    assert prox[1].shape == (4000,) and np.all(prox[1] >= 0.0)


def test_allowances_of_a_prox(monkeypatch):
    """The sizes of terms at the z of the prox, and of z itself."""
    at = checks._Points(L.Huber())
    asked = []
    prox = L.Huber.prox_conjugate

    def seen(self, y, v, step):
        asked.append((v, step, prox(self, y, v, step)))
        return asked[-1][2]

    monkeypatch.setattr(L.Huber, "prox_conjugate", seen)
    size = sizes_of(checks._conjugates, at)["prox"]
    v, step, theta = asked[0]
    assert step.min() >= 0.01 and step.max() <= 100.0 and np.std(np.log10(step)) > 1.0
    z = (v - theta) / step
    value = L.Huber().value(at.y, z)
    expected = value + np.abs(theta * z) + np.abs(theta * at.y) + np.abs(z)
    np.testing.assert_allclose(size, expected, rtol=1e-6)


def test_small_samples_of_check_loss():
    """20 of 8 rows, with others on [-2, 2] times the largest target and the targets."""
    tests = list(checks._constants(checks._Points(L.Absolute())))
    best = [test for test in tests if test[0].startswith("best constant,")]
    assert len(best) == 20 and len(tests) == 60
    bounds = tests[1::3], tests[2::3]
    for (_, found, _, means, _, places), bound, upper in zip(best, *bounds, strict=True):
        others = places["other"]
        assert len(others) == 81 + 8 and len(means) == 89
        targets = others[81:]
        np.testing.assert_allclose(others[:81], np.linspace(-2.0, 2.0, 81) * np.abs(targets).max())
        assert found <= means.min() * (1.0 + 1e-9)
        assert bound[1] < bound[3] < upper[3] and upper[1] == bound[3]
    sizes = [abs(bound[3]) for bound in tests[1::3]]
    assert 1.0 < np.sqrt(np.mean(np.square(sizes))) < 5.0


@pytest.mark.parametrize("excess, fails", [(0.9, False), (1.1, True)])
def test_allowances_of_constants(excess, fails):
    """A mean loss, and a constant, that are off by a billionth of 1 and their sizes."""
    weights, y = 0.01 * np.arange(1.0, 9.0), np.ones(8)

    class Off(L.Absolute):
        def best_constant(self, y, weights):
            return 0.0

        def value(self, y, z, z_low=0.0):
            found = np.full(len(z), 2.0)
            if len(z) == 8:  # the best constant itself
                found += excess * 1e-9 * (1.0 + 2.0 * weights.sum()) / weights.sum()
            return found

    class Short(L.Absolute):
        side = 1.0

        def constant_interval(self, groups, value, bounds):
            b = np.random.default_rng(7).normal() * 3.0
            missed = self.side * excess * 1e-9 * (1.0 + abs(b))
            return (b + missed, inf) if self.side > 0.0 else (-inf, b + missed)

    class ShortAbove(Short):
        side = -1.0

    for loss, what in (
        (Off(), "best constant"), (Short(), "constant_interval"),
        (ShortAbove(), "constant_interval"),
    ):  # fmt: skip
        at = checks._Points(loss)
        at.rng = np.random.default_rng(7)
        tests = [
            test for test in checks._constants_of(at, y, weights, y) if test[0].startswith(what)
        ]
        if fails:
            with pytest.raises(AssertionError, match=f"{what}.* against "):
                checks.require(loss, tests)
        else:
            checks.require(loss, tests)
