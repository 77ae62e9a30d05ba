"""What losses declare of themselves, against what their values and slopes do."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import losses as L
from skpd.losses.base import Loss
from skpd.losses.shifted import Shifted, with_offset
from skpd.models.robust.loss import FlippedHinge, WorstCaseHinge

MARGIN, RESIDUAL = "of_labels has_decisions ", "of_residuals "
LINEAR = "linear_conjugate linear_tails piecewise_quadratic has_cones has_kinks is_compiled "
TAILS = "linear_tails piecewise_quadratic has_cones is_compiled "
COUNTS = "has_log_link has_cones"
CLASSES = "couples_outputs of_classes has_decisions groups_have_weights has_cones "

# the conjugate's domain, the Lipschitz constants of the loss and of its slope, and what is true
DECLARED = {
    L.Hinge(): (-1, 0, 1, inf, MARGIN + LINEAR),
    L.GeneralizedHinge(2.5): (
        -2.5, 0, 2.5, inf,
        MARGIN + LINEAR.replace("linear_conjugate ", ""),
    ),
    L.SmoothedHinge(0.5): (-1, 0, 1, 2, MARGIN + TAILS + "quadratic_conjugate"),
    L.SquaredHinge(): (
        -inf, 0, inf, 2, MARGIN + "quadratic_conjugate piecewise_quadratic has_cones is_compiled",
    ),
    L.ModifiedHuber(): (-4, 0, 4, 2, MARGIN + TAILS),
    L.Logistic(): (-1, 0, 1, 0.25, MARGIN + "is_log_likelihood has_cones is_compiled"),
    FlippedHinge(1.0): (-1, 1, 1, inf, MARGIN + "linear_tails has_kinks"),
    WorstCaseHinge(0.5): (-1, 0, 1, inf, MARGIN + LINEAR),
    L.Squared(): (
        -inf, inf, inf, 1,
        RESIDUAL + "quadratic_conjugate constant_curvature piecewise_quadratic has_cones "
        "dual_is_free is_compiled",
    ),
    L.Absolute(): (-1, 1, 1, inf, RESIDUAL + LINEAR),
    L.Pinball(0.3): (-0.3, 0.7, 0.7, inf, RESIDUAL + LINEAR),
    L.EpsilonInsensitive(0.3): (-1, 1, 1, inf, RESIDUAL + LINEAR),
    L.Huber(0.7): (-0.7, 0.7, 0.7, 1, RESIDUAL + TAILS + "quadratic_conjugate"),
    L.SquaredEpsilonInsensitive(0.3): (
        -inf, inf, inf, 2, RESIDUAL + "dual_is_free piecewise_quadratic has_cones is_compiled",
    ),
    L.PiecewiseLinear((-1.0, 1.0, 3.0), (-1.0, 0.0, 1.0, 2.5)): (
        -1, 2.5, 2.5, inf, RESIDUAL + LINEAR.replace("linear_conjugate ", ""),
    ),
    L.Poisson(): (-inf, inf, inf, inf, COUNTS),
    L.Gamma(): (-inf, 1, inf, inf, COUNTS),
    L.Tweedie(1.5): (-inf, inf, inf, inf, COUNTS),
    L.NegativeBinomial(0.5): (-inf, inf, inf, inf, COUNTS),
    L.L2Norm(3): (
        -1, 1, 1, inf,
        RESIDUAL + "couples_outputs linear_conjugate linear_tails has_kinks groups_have_weights "
        "has_cones",
    ),
    L.Softmax(3): (-1, 1, 1, 0.5, CLASSES + "is_log_likelihood"),
    L.CrammerSinger(3): (-1, 1, 1, inf, CLASSES + "linear_conjugate linear_tails has_kinks"),
    L.NonCrossingPinball((0.1, 0.5, 0.8)): (
        -inf, inf, inf, inf,
        RESIDUAL + "couples_outputs of_quantiles linear_conjugate linear_tails has_kinks "
        "groups_have_weights has_cones dual_is_free",
    ),
}  # fmt: skip
FLAGS = [
    "has_kinks", "dual_is_free", "linear_conjugate", "quadratic_conjugate", "linear_tails",
    "constant_curvature", "piecewise_quadratic", "groups_have_weights", "of_labels",
    "of_residuals", "is_log_likelihood", "couples_outputs", "of_classes", "of_quantiles",
    "has_decisions", "has_log_link", "has_offset", "is_compiled", "has_cones",
]  # fmt: skip
each = pytest.mark.parametrize("loss", DECLARED, ids=repr)
SINGLE = [loss for loss in DECLARED if not loss.couples_outputs]
WORST_CASE = FlippedHinge, WorstCaseHinge  # whose dual points are pairs of multipliers
WITH_OFFSETS = [
    loss
    for loss in SINGLE
    if (loss.of_labels or loss.has_log_link) and not isinstance(loss, WorstCaseHinge)
]


def said(loss):
    flags = set(DECLARED[loss][-1].split())
    return flags if loss.has_log_link else flags | {"groups_have_weights"}


@each
def test_flags(loss):
    assert {flag for flag in FLAGS if getattr(loss, flag)} == said(loss)
    assert loss.n_outputs == (3 if loss.couples_outputs else 1)
    assert loss.target_error == 0.0
    zeros = np.zeros(2 * loss.n_outputs)
    for found in (loss.gradient(zeros + loss.of_labels, zeros), *loss.dual_bounds(zeros)):
        assert found.shape == zeros.shape
    if loss.couples_outputs and loss.of_quantiles:
        assert loss.of_output(1) == L.Pinball(0.5)
    else:
        assert loss.of_output(0) is loss
        assert loss.raises_in_order(*[np.zeros(3)] * 4, 1.0) == 0.0


@each
def test_constants_of_slopes(loss, rng):
    """Steepest at predictions far away, and most curved between neighbours on a fine grid."""
    lower, upper, lipschitz, smoothness, _ = DECLARED[loss]
    assert loss.conjugate_domain == pytest.approx((lower, upper))
    assert loss.lipschitz == pytest.approx(lipschitz)
    assert loss.smoothness == pytest.approx(smoothness)
    K = loss.n_outputs
    y = rng.choice([-1.0, 1.0], 30 * K) if loss.of_labels else rng.random(30 * K)
    if loss.of_classes:
        y = np.ravel(np.eye(K)[rng.integers(0, K, 30)])
    g = loss.gradient(y, 5.0 * rng.normal(size=30 * K))
    assert np.abs(g).max() <= loss.lipschitz
    assert loss.of_labels or np.all((g >= lower) & (g <= upper))
    if loss.couples_outputs or loss.has_log_link:
        return
    y, ends = np.ones(2), loss.gradient(np.ones(2), np.array([-1e9, 1e9]))
    bound = loss.dual_bounds(y)
    for end, limit, of_rows in zip(ends, (lower, upper), bound, strict=True):
        assert_array_equal(of_rows, loss.conjugate_domain[int(limit == upper)])
        assert end == pytest.approx(limit) if np.isfinite(limit) else abs(end) > 1e8
    z = np.linspace(-5.0, 5.0, 200_001)
    slopes = loss.gradient(np.ones_like(z), z)
    steepest = np.max(np.diff(slopes)) / (z[1] - z[0])
    assert steepest == pytest.approx(smoothness, rel=1e-4) if smoothness < inf else steepest > 1e3
    straight = np.isclose(np.diff(slopes, 2), 0.0, atol=1e-12) & (np.diff(slopes)[1:] == 0.0)
    assert np.any(straight & (np.abs(slopes[1:-1]) > 0.1)) == loss.linear_tails


@pytest.mark.parametrize(
    "loss", [loss for loss in SINGLE if not isinstance(loss, WORST_CASE)], ids=repr
)
def test_forms_of_conjugates(loss, rng):
    """Along segments from 0: linear, a parabola, or neither."""
    y = np.where(rng.random(200) < 0.5, -1.0, 1.0) if loss.of_labels else rng.gamma(2.0, size=200)
    theta = loss.project_dual(y, 2.0 * rng.normal(size=200))
    at = [loss.conjugate(y, k / 3.0 * theta) for k in range(4)]
    linear = np.allclose(at[1], at[3] / 3.0) and at[0] == pytest.approx(0.0)
    parabola = np.allclose(at[3] - at[0], 3.0 * (at[2] - at[1]))
    assert linear == loss.linear_conjugate
    declared = loss.quadratic_conjugate or linear
    # these are parabolas of u or of |u|, which no method asks of them
    kinked = isinstance(loss, L.ModifiedHuber | L.SquaredEpsilonInsensitive)
    assert parabola == (declared or kinked)
    q = loss.conjugate_curvature
    expected = {
        L.Hinge(): 0.0, L.SmoothedHinge(0.5): 0.5,
        L.SquaredHinge(): 0.5, L.Squared(): 1.0, L.Absolute(): 0.0, L.Pinball(0.3): 0.0,
        L.Huber(0.7): 1.0,
    }.get(loss)  # fmt: skip
    assert q == expected
    if q is not None:
        assert_allclose(at[3], y * theta + 0.5 * q * theta**2, atol=1e-12)
    rises = loss.gradient(y, y + 1.0) - loss.gradient(y, y)
    straight = loss.gradient(y, y + 3.0) - loss.gradient(y, y)
    assert loss.constant_curvature == np.allclose(straight, 3.0 * rises) * np.all(rises > 0.1)


@pytest.mark.parametrize("inner", WITH_OFFSETS)
def test_losses_with_offsets_declare_what_the_inner_ones_do(inner):
    table, loss = with_offset(inner, np.array([1.0, 1.0]), np.array([0.5, -3.0]))
    assert loss == Shifted(inner)
    names = {flag for flag in FLAGS if getattr(loss, flag)}
    kept = said(inner) - {"of_labels", "has_log_link", "is_compiled"}
    assert names == kept | {"has_offset"}
    for name in ("conjugate_domain", "lipschitz", "smoothness"):
        assert getattr(loss, name) == getattr(inner, name)
    assert_array_equal(loss.targets_of(table), 1.0)
    assert_array_equal(loss.sizes_of(table), [1.0, 3.0])
    assert_array_equal(loss.dual_bounds(table), inner.dual_bounds(np.ones(2)))
    assert loss.distant_constant(2.0) == inner.distant_constant(2.0)


class Cones:
    """Records what a loss adds to a conic programme."""

    def __init__(self, y):
        self.y, self.added = y, []

    def __getattr__(self, name):
        return lambda *given: self.added.append((name, *given))


@each
def test_cones(loss, rng):
    y = rng.choice([-1.0, 1.0], 6) if loss.of_labels else np.abs(rng.normal(size=6))
    cones = Cones(y)
    if not loss.has_cones:
        return
    loss.add_cones(cones)
    ((name, *given),) = cones.added
    expected = {
        L.Squared: "add_half_squares", L.L2Norm: "add_row_norms", L.Softmax: "add_softmax",
        L.CrammerSinger: "add_largest_scores", L.NonCrossingPinball: "add_ordered_pinballs",
    }.get(type(loss), "add_pieces" if loss.piecewise_quadratic else "add_smooth")  # fmt: skip
    assert name == expected
    if name == "add_pieces":
        z, total = 3.0 * rng.normal(size=6), 0.0
        for piece in given[0]:
            s = piece.sign * (z - piece.offset)
            u = np.where(s > 0.0, piece.upper, piece.lower)
            if piece.curvature:
                u = np.clip(s / piece.curvature, piece.lower, piece.upper)
            total = total + u * s - 0.5 * piece.curvature * u * u
        assert_allclose(total, loss.value(y, z), atol=1e-13)
    if loss.of_labels or loss.has_log_link:
        if isinstance(loss, WorstCaseHinge):
            return
        table, shifted = with_offset(loss, y, rng.normal(size=6))
        cones = Cones(table)
        shifted.add_cones(cones)
        assert [name for name, *_ in cones.added] == [expected]


def test_defaults_of_the_interface():
    """A loss that says nothing is treated as if it had no structure."""
    unsaid = {
        "linear_conjugate", "quadratic_conjugate", "constant_curvature", "of_labels",
        "of_residuals", "is_log_likelihood", "couples_outputs", "of_classes", "of_quantiles",
        "has_decisions", "has_log_link", "has_offset", "is_compiled",
    }  # fmt: skip
    assert not any(getattr(Loss, name) for name in unsaid)
    assert Loss.linear_tails and Loss.groups_have_weights
    assert (Loss.smoothness, Loss.conjugate_curvature, Loss.n_outputs) == (inf, None, 1)


def test_errors_of_targets_stay_with_a_loss():
    loss = L.Huber(0.7).with_target_error(0.25)
    assert loss == L.Huber(0.7) and loss.target_error == 0.25
    assert L.Huber(0.7).target_error == 0.0
