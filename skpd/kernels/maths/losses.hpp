// The losses l(y, z), each as a convex function phi of one number t and its conjugate phi*:
//
//   margin losses     l(y, z) = phi(y z),    theta = y u
//   residual losses   l(y, z) = phi(z - y),  theta = u
//
// with u in the domain of phi*. The members of a loss are
//
//   value(t)                  = phi(t)
//   conjugate(u)              = phi*(u), for u in its domain
//   prox_conjugate(v, step)   = argmin_u phi*(u) + (u - v)^2 / (2 step)
//   slope_conjugate(v, step)  = the derivative of prox_conjugate in v
//   at(t)                     = phi(t), phi'(t), phi''(t) and phi*(phi'(t)), for losses that have them
//
// Functions of rows take y, weights, theta and z of shape (n).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "data/compensated.hpp"

namespace skpd {

// A curvature of 0 is replaced by this number where an argument is divided by it: the quotient is then beyond all
// bounds, or 0. GCC vectorises no loop over rows with a condition on the curvature, which is the same for all of them.
inline constexpr double TINY = std::numeric_limits<double>::min();

// min(max(x, lower), upper): std::clamp returns a reference and compiles to branches, while this compiles to two
// instructions
SKPD_INLINE double clip(double x, double lower, double upper) { return std::min(std::max(x, lower), upper); }

// exp(-|x|) and log(1 + x) for 0 <= x <= 1, to a few units in the last place; they have no branches and calls, so that
// loops over rows are vectorised.
struct Exponential {
    double value, minus_one;  // value is exp(-|x|), and minus_one is exp(-|x|) - 1 without cancellation
};
SKPD_INLINE Exponential exponential_minus_abs(double x) {
    constexpr double log2_e = 1.4426950408889634, ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    constexpr double to_integer = 0x1.8p52;  // adding this number rounds to an integer, in the lowest bits
    x = -std::fabs(x);
    x = std::max(x, std::copysign(708.0, x));  // GCC would make a branch of what follows from a constant
    const double shifted = x * log2_e + to_integer, k = shifted - to_integer;
    const double r = (x - k * ln2_high) - k * ln2_low;
    const double square = r * r;  // two chains let additions overlap
    double even = 1.0 / 479001600.0, odd = 1.0 / 6227020800.0;
    for (const double c : {1.0 / 3628800.0, 1.0 / 40320.0, 1.0 / 720.0, 1.0 / 24.0, 0.5}) even = even * square + c;
    for (const double c : {1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0}) odd = odd * square + c;
    const double change = r + square * (even + r * odd);
    const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52);
    return {(1.0 + change) * power, change * power + (power - 1.0)};
}
// exp(-|x|)
SKPD_INLINE double exp_minus_abs(double x) { return exponential_minus_abs(x).value; }
// log(1 + x) for 0 <= x <= 1
SKPD_INLINE double log1p_unit(double x) {
    // log(1 + x) = k log(2) + 2 artanh(s), with k = 1 if 1 + x > sqrt(2) and 0 otherwise
    const double k = (x + 0.0857864376269050 + 0x1.8p52) - 0x1.8p52, s = (x - k) / (x + 2.0 + k);
    const double square = s * s, fourth = square * square;
    double first = 1.0 / 21.0, second = 1.0 / 19.0;
    for (int j = 17; j > 0; j -= 4) first = first * fourth + 1.0 / j;
    for (int j = 15; j > 0; j -= 4) second = second * fourth + 1.0 / j;
    return k * 0.693147180559945309 + 2.0 * s * (first + square * second);
}

// log(x) for normal x > 0, finite at 0
SKPD_INLINE double log_positive(double x) {
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    // root_half has the bits of sqrt(1/2), and the shift keeps exponents positive.
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd, shift = 1024;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), exponent = (bits + (shift << 52) - root_half) >> 52;
    const double k = std::bit_cast<double>(exponent + 0x4330000000000000) - (0x1p52 + shift);
    const double m = std::bit_cast<double>(bits - ((exponent - shift) << 52));  // sqrt(1/2) <= m < sqrt(2)
    const double s = (m - 1.0) / (m + 1.0), square = s * s, fourth = square * square;
    double first = 1.0 / 21.0, second = 1.0 / 23.0;
    for (int j = 17; j > 0; j -= 4) first = first * fourth + 1.0 / j;
    for (int j = 19; j > 0; j -= 4) second = second * fourth + 1.0 / j;
    return k * ln2_high + (k * ln2_low + 2.0 * s * (first + square * second));
}

// The root in [low, high] of an increasing function f, by Newton's method with bisections; f(t) returns the value and
// the slope.
template <class Function>
double increasing_root(double low, double high, double t, const Function& f) {
    t = std::clamp(t, low, high);
    double moved = high - low;
    for (int iteration = 0; iteration < 100; ++iteration) {
        const auto [value, slope] = f(t);
        (value > 0.0 ? high : low) = t;
        const double newton = t - value / slope;
        if (std::fabs(newton - t) <= 1e-15 * std::max(1.0, std::fabs(t))) break;
        // Newton steps that do not shrink can alternate for ever between the two tails.
        const bool shrinks = newton > low && newton < high && 2.0 * std::fabs(newton - t) <= moved;
        const double next = shrinks ? newton : 0.5 * (low + high);
        moved = std::fabs(next - t);
        if (moved <= 1e-15 * std::max(1.0, std::fabs(t))) break;
        t = next;
    }
    return t;
}

// The interval [lower, upper] around a point u on which phi* is a parabola, the slope of phi* at u and its curvature;
// inside is false if u is an end of it.
struct QuadraticPiece {
    bool inside;
    double slope, curvature, lower, upper;
};

// phi(t), phi'(t), phi''(t), and phi*(phi'(t))
struct Expansion {
    double value, derivative, second_derivative, conjugate;
};

// phi*(u) = u + (curvature / 2) u^2 on [lower, 0]. It is the hinge loss (lower -1, curvature 0), the smoothed (-1, mu)
// and the squared hinge (-inf, 1/2), and the modified Huber loss (-4, 1/2).
struct HingeLoss {
    static constexpr bool margin = true, quadratic_pieces = true;
    double lower, curvature;

    SKPD_INLINE double value(double t) const {
        const double slack = std::max(1.0 - t, 0.0), u = std::max(-slack / std::max(curvature, TINY), lower);
        return -u * slack - 0.5 * curvature * u * u;
    }
    SKPD_INLINE double conjugate(double u) const { return u + 0.5 * curvature * u * u; }
    QuadraticPiece piece(double u) const { return {u > lower && u < 0.0, 1.0 + curvature * u, curvature, lower, 0.0}; }
    SKPD_INLINE double prox_conjugate(double v, double step) const {
        return clip((v - step) / (1.0 + step * curvature), lower, 0.0);
    }
    SKPD_INLINE double slope_conjugate(double v, double step) const {
        const double scale = 1.0 + step * curvature, u = (v - step) / scale;
        return ((u > lower) & (u < 0.0) ? 1.0 : 0.0) / scale;
    }
    SKPD_INLINE Expansion at(double t) const {
        const double free = (t - 1.0) / curvature, u = clip(free, lower, 0.0);
        return {value(t), u, ((free > lower) & (free < 0.0) ? 1.0 : 0.0) / curvature, conjugate(u)};
    }
};

// phi*(u) = max(u, -1) on [-slope, 0], the generalised hinge loss
struct GeneralizedHingeLoss {
    static constexpr bool margin = true, quadratic_pieces = true;
    double slope;

    double value(double t) const { return std::max(std::max(1.0 - slope * t, 1.0 - t), 0.0); }
    static double conjugate(double u) { return std::max(u, -1.0); }
    QuadraticPiece piece(double u) const {
        if (u < -1.0) return {u > -slope, 0.0, 0.0, -slope, -1.0};
        return {u > -1.0 && u < 0.0, 1.0, 0.0, -1.0, 0.0};
    }
    double prox_conjugate(double v, double step) const {
        if (v < -1.0) return std::max(v, -slope);
        return clip(v - step, -1.0, 0.0);
    }
    double slope_conjugate(double v, double step) const {
        if (v < -1.0) return v > -slope ? 1.0 : 0.0;
        return v - step > -1.0 && v - step < 0.0 ? 1.0 : 0.0;
    }
};

// phi*(u) = -u log(-u) + (1 + u) log(1 + u) on [-1, 0], the logistic loss phi(t) = log(1 + exp(-t))
struct LogisticLoss {
    static constexpr bool margin = true, quadratic_pieces = false;

    SKPD_INLINE double value(double t) const { return at(t).value; }
    SKPD_INLINE static double conjugate(double u) {
        const double v = 1.0 + u;
        return -u * log_positive(-u) + (v * log_positive(v) + (u - (v - 1.0)));  // v log1p(u)
    }
    // phi*(u), which is infinite outside its domain
    SKPD_INLINE double extended_conjugate(double u) const {
        const double inside = conjugate(u);
        return (u >= -1.0) & (u <= 0.0) ? inside : std::numeric_limits<double>::infinity();
    }
    // With u = phi'(t) = -1 / (1 + exp(t)), the optimality condition is step t + phi'(t) = v, which increases in t with
    // a slope between step and step + 1/4.
    double prox_conjugate(double v, double step) const {
        if (step <= 0.0) return clip(v, -1.0, 0.0);
        const double low = v / step;
        const double t = increasing_root(low, (v + 1.0) / step, v >= -0.5 ? 0.0 : low, [&](double x) {
            const double u = at(x).derivative;
            return std::pair{step * x + u - v, step - u * (1.0 + u)};
        });
        return at(t).derivative;
    }
    double slope_conjugate(double v, double step) const {
        const double u = prox_conjugate(v, step);
        const double second = -u * (1.0 + u);
        return second / (second + step);
    }
    SKPD_INLINE static Expansion at(double t) {
        const double e = exp_minus_abs(t), u = (t >= 0.0 ? -e : -1.0) / (1.0 + e);
        const double value = std::max(-t, 0.0) + log1p_unit(e);
        return {value, u, e / ((1.0 + e) * (1.0 + e)), u * t - value};
    }
};

// phi*(u) = tube |u| + (curvature / 2) u^2 on [lower, upper]. It is the squared loss (no bounds, curvature 1), the
// absolute and the pinball loss (bounds), the epsilon-insensitive loss (tube; squared: curvature 1/2 and no bounds),
// and the Huber loss (bounds and curvature 1).
struct ResidualLoss {
    static constexpr bool margin = false, quadratic_pieces = true;
    double lower, upper, tube, curvature;

    SKPD_INLINE double value(double t) const {
        const double shrunk = t - clip(t, -tube, tube), u = clip(shrunk / std::max(curvature, TINY), lower, upper);
        return u * shrunk - 0.5 * curvature * u * u;
    }
    SKPD_INLINE double conjugate(double u) const { return tube * std::fabs(u) + 0.5 * curvature * u * u; }
    QuadraticPiece piece(double u) const {
        const double first = tube > 0.0 && u >= 0.0 ? 0.0 : lower, last = tube > 0.0 && u <= 0.0 ? 0.0 : upper;
        return {u > first && u < last, curvature * u + std::copysign(tube, u), curvature, first, last};
    }
    SKPD_INLINE double prox_conjugate(double v, double step) const {
        const double threshold = step * tube;
        return clip((v - clip(v, -threshold, threshold)) / (1.0 + step * curvature), lower, upper);
    }
    SKPD_INLINE double slope_conjugate(double v, double step) const {
        const double scale = 1.0 + step * curvature;
        const double shrunk = v - clip(v, -step * tube, step * tube), u = shrunk / scale;
        return ((shrunk != 0.0) & (u > lower) & (u < upper) ? 1.0 : 0.0) / scale;
    }
    SKPD_INLINE Expansion at(double t) const {
        const double shrunk = t - clip(t, -tube, tube), free = shrunk / curvature, u = clip(free, lower, upper);
        const double quadratic_part = 0.5 * curvature * u * u;
        const bool in_tube = (free == 0.0) & (tube > 0.0), inside = !in_tube & (free > lower) & (free < upper);
        return {u * shrunk - quadratic_part, u, (inside ? 1.0 : 0.0) / curvature, tube * std::fabs(u) + quadratic_part};
    }
};

// phi is linear between breakpoints: phi*(u) = t_k u - phi(t_k) for slopes_k <= u <= slopes_{k+1}, with breakpoints t
// (m), slopes (m + 1), and values phi(t) (m)
struct PiecewiseLinearLoss {
    static constexpr bool margin = false, quadratic_pieces = true;
    std::vector<double> breakpoints, slopes, values;  // values are phi at the breakpoints

    double value(double t) const {
        double largest = 0.0;
        for (std::size_t k = 0; k < breakpoints.size(); ++k)
            largest = std::max(largest, values[k] + std::max(slopes[k] * (t - breakpoints[k]),
                                                             slopes[k + 1] * (t - breakpoints[k])));
        return largest;
    }
    double conjugate(double u) const {
        const std::size_t k = place(u);
        return breakpoints[k] * u - values[k];
    }
    QuadraticPiece piece(double u) const {
        const std::size_t k = place(u);
        return {u > slopes[k] && u < slopes[k + 1], breakpoints[k], 0.0, slopes[k], slopes[k + 1]};
    }
    double prox_conjugate(double v, double step) const {
        for (std::size_t k = 0; k < breakpoints.size(); ++k) {
            const double u = v - step * breakpoints[k];
            if (u < slopes[k + 1]) return std::max(u, slopes[k]);
        }
        return slopes.back();
    }
    double slope_conjugate(double v, double step) const {
        return piece(prox_conjugate(v, step)).inside ? 1.0 : 0.0;
    }

   private:
    // The k with slopes_k <= u < slopes_{k+1}
    std::size_t place(double u) const {
        std::size_t k = 0;
        while (k + 1 < breakpoints.size() && u >= slopes[k + 1]) ++k;
        return k;
    }
};

// A loss that is not a function phi of one number; its at(y, z) and the other members take the target y.
template <class Loss>
concept OfTargets = requires(const Loss& loss) { loss.at(0.0, 0.0); };

// argmin_u l*(y, u) + (u - (theta + step z))^2 / (2 step)
template <class Loss>
SKPD_INLINE double dual_prox(const Loss& loss, double y, double theta, double z, double step) {
    if constexpr (OfTargets<Loss>) return loss.prox_conjugate(y, theta + step * z, step);
    else if constexpr (Loss::margin) return y * loss.prox_conjugate(y * theta + step * y * z, step);
    else return loss.prox_conjugate(theta + step * (z - y), step);
}

// l(y, z)
template <class Loss>
SKPD_INLINE double primal_value(const Loss& loss, double y, double z) {
    if constexpr (OfTargets<Loss>) return loss.at(y, z).value;
    else return Loss::margin ? loss.value(y * z) : loss.value(z - y);
}
// l*(y, theta)
template <class Loss>
SKPD_INLINE double conjugate(const Loss& loss, double y, double theta) {
    if constexpr (OfTargets<Loss>) return loss.conjugate(y, theta);
    else return Loss::margin ? loss.conjugate(y * theta) : loss.conjugate(theta) + y * theta;
}

// l(y, z) + l*(y, theta) - theta z >= 0, the gap of the inequality of Fenchel and Young
template <class Loss>
double fenchel_young(const Loss& loss, double y, double theta, double z) {
    return primal_value(loss, y, z) + conjugate(loss, y, theta) - theta * z;
}

// Returns the piece of l*(y, .) around theta.
template <class Loss>
QuadraticPiece dual_piece(const Loss& loss, double y, double theta) {
    if constexpr (!Loss::margin) {
        QuadraticPiece piece = loss.piece(theta);
        piece.slope += y;
        return piece;
    } else {
        const QuadraticPiece piece = loss.piece(y * theta);
        if (y > 0.0) return piece;
        return {piece.inside, -piece.slope, piece.curvature, -piece.upper, -piece.lower};
    }
}

// Returns l(y, z), its first two derivatives in z, and l*(y, .) at the first one.
template <class Loss>
    requires OfTargets<Loss> || requires(const Loss& loss) { loss.at(0.0); }
SKPD_INLINE Expansion expansion(const Loss& loss, double y, double z) {
    if constexpr (OfTargets<Loss>) return loss.at(y, z);
    else if constexpr (Loss::margin) {
        Expansion phi = loss.at(y * z);
        phi.derivative *= y;
        return phi;
    } else {
        Expansion phi = loss.at(z - y);
        phi.conjugate += y * phi.derivative;
        return phi;
    }
}
template <class Loss>
concept HasExpansion = requires(const Loss& loss) { expansion(loss, 0.0, 0.0); };

// Functions of z that are smooth: a loss l(y, z) with its derivatives, which are NaN for a loss that has none, and the
// Moreau envelope of any loss, shifted by theta, whose derivative is dual_prox(loss, y, theta, z, sigma). The curvature
// of the envelope is over sigma, which makes it 0 or 1 on linear pieces for every sigma. These are two types, as loops
// over rows with a condition on sigma are not vectorised.
template <class Loss>
struct Itself {
    Loss loss;

    SKPD_INLINE double derivative(double y, double, double z) const {
        if constexpr (HasExpansion<Loss>) return expansion(loss, y, z).derivative;
        else return std::numeric_limits<double>::quiet_NaN();
    }
    SKPD_INLINE double curvature(double y, double, double z) const {
        if constexpr (HasExpansion<Loss>) return expansion(loss, y, z).second_derivative;
        else return std::numeric_limits<double>::quiet_NaN();
    }
};
template <class Loss>
struct Envelope {
    Loss loss;
    double sigma;

    SKPD_INLINE double derivative(double y, double theta, double z) const {
        return dual_prox(loss, y, theta, z, sigma);
    }
    SKPD_INLINE double curvature(double y, double theta, double z) const {
        if constexpr (OfTargets<Loss>) {
            const double v = theta + sigma * z, u = loss.prox_conjugate(y, v, sigma);
            const double second = loss.at(y, (v - u) / sigma).second_derivative;
            return second / (second + sigma);
        } else return loss.slope_conjugate(Loss::margin ? y * theta + sigma * y * z : theta + sigma * (z - y), sigma);
    }
};
// Calls function with the loss itself if sigma = inf, and otherwise with its envelope.
template <class Loss, class Function>
auto with_smooth(const Loss& loss, double sigma, const Function& function) {
    if (sigma == std::numeric_limits<double>::infinity()) return function(Itself<Loss>{loss});
    return function(Envelope<Loss>{loss, sigma});
}

// With f_i the smooth function of row i (`Itself` or `Envelope`), writes
//   derivative_i = f_i'(z_i),    gradient_i = weights_i f_i'(z_i),    curvature_i = weights_i f_i''(z_i);
// all vectors have n entries. Returns sum_i weights_i l(y_i, z_i) and -sum_i weights_i l*(y_i, f_i'(z_i)).
template <class Smooth>
SKPD_CLONES std::pair<double, double> smoothed_derivatives(
    const Smooth& smooth, std::size_t n, const double* y, const double* weights, const double* theta, const double* z,
    double* derivative, double* gradient, double* curvature) {
    const Smooth local = smooth;  // a copy, which is not read again after every write
    using Loss = decltype(local.loss);
    double primal_sum = 0.0, dual_sum = 0.0;
    if constexpr (std::is_same_v<Smooth, Itself<Loss>> && HasExpansion<Loss>) {
#pragma omp simd reduction(+ : primal_sum, dual_sum)
        for (std::size_t i = 0; i < n; ++i) {
            const Expansion at_z = expansion(local.loss, y[i], z[i]);
            derivative[i] = at_z.derivative;
            gradient[i] = weights[i] * at_z.derivative;
            curvature[i] = weights[i] * at_z.second_derivative;
            primal_sum += weights[i] * at_z.value;
            dual_sum -= weights[i] * at_z.conjugate;
        }
        return {primal_sum, dual_sum};
    }
#pragma omp simd reduction(+ : primal_sum, dual_sum)
    for (std::size_t i = 0; i < n; ++i) {
        const double first = local.derivative(y[i], theta[i], z[i]);
        derivative[i] = first;
        gradient[i] = weights[i] * first;
        curvature[i] = weights[i] * local.curvature(y[i], theta[i], z[i]);
        primal_sum += weights[i] * primal_value(local.loss, y[i], z[i]);
        dual_sum -= weights[i] * conjugate(local.loss, y[i], first);
    }
    return {primal_sum, dual_sum};
}

// Returns the rows with curvature_i > 0, or for which f_i'(z_i - radius) or f_i'(z_i + radius) differs from
// derivative_i, with f_i the smooth function of row i; all vectors have n entries. A block of rows stays in the cache.
template <class Smooth>
SKPD_CLONES std::vector<std::int64_t> rows_that_bend(const Smooth& smooth, std::size_t n, const double* y,
                                                     const double* theta, const double* z, const double* derivative,
                                                     const double* curvature, double radius) {
    const Smooth local = smooth;
    constexpr std::size_t block = 1024;
    double bends[block];
    std::vector<std::int64_t> rows;
    std::size_t count = 0;
    for (std::size_t start = 0; start < n; start += block) {
        const std::size_t size = std::min(block, n - start);
#pragma omp simd
        for (std::size_t k = 0; k < size; ++k) {
            const std::size_t i = start + k;
            const double below = local.derivative(y[i], theta[i], z[i] - radius);
            const double above = local.derivative(y[i], theta[i], z[i] + radius);
            const bool is_flat = (curvature[i] <= 0.0) & (below == derivative[i]) & (above == derivative[i]);
            bends[k] = is_flat ? 0.0 : 1.0;
        }
        rows.resize(count + size);
        for (std::size_t k = 0; k < size; ++k) {  // without a branch, which would be mispredicted
            rows[count] = static_cast<std::int64_t>(start + k);
            count += bends[k] > 0.0;
        }
    }
    rows.resize(count);
    return rows;
}

// sum_i weights_i direction_i f_i'(z_i + step direction_i) with f_i the smooth function of row i; all vectors have n
// entries
template <class Smooth>
SKPD_CLONES double smoothed_slope(const Smooth& smooth, std::size_t n, const double* y, const double* weights,
                                  const double* theta, const double* z, const double* direction, double step) {
    const Smooth local = smooth;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i)
        sum += weights[i] * direction[i] * local.derivative(y[i], theta[i], z[i] + step * direction[i]);
    return sum;
}

// Any of the losses that methods are compiled for
using AnyLoss = std::variant<const HingeLoss*, const GeneralizedHingeLoss*, const LogisticLoss*,
                             const PiecewiseLinearLoss*, const ResidualLoss*>;

}  // namespace skpd
