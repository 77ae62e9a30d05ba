// The losses, each as a convex function phi of one number t and its conjugate phi*.
//
//   margin losses     l(y, z) = phi(y z),    theta = y u
//   residual losses   l(y, z) = phi(z - y),  theta = u
//
// with u in the domain of phi*. value is phi, conjugate is phi* on its domain,
// prox_conjugate is argmin_u phi*(u) + (u - v)^2 / (2 step), slope_conjugate its derivative
// in v. Losses with a derivative have derivative and second_derivative, phi' and phi''.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "compensated.hpp"

namespace skpd {

// std::clamp returns a reference and compiles to branches; this to two instructions
inline double clip(double x, double lower, double upper) { return std::min(std::max(x, lower), upper); }

// A point u inside an interval on which phi* is a parabola: its slope at u and its curvature.
struct Piece {
    bool inside;
    double slope, curvature, lower, upper;
};

// phi*(u) = u + (curvature / 2) u^2 on [lower, 0]:
// hinge (lower -1, curvature 0), smoothed hinge (-1, mu), squared hinge (-inf, 1/2)
struct HingeLoss {
    static constexpr bool margin = true, quadratic_pieces = true;
    double lower, curvature;

    double value(double t) const {
        const double slack = std::max(1.0 - t, 0.0);
        if (curvature == 0.0) return -lower * slack;
        const double u = std::max(-slack / curvature, lower);
        return -u * slack - 0.5 * curvature * u * u;
    }
    double conjugate(double u) const { return u + 0.5 * curvature * u * u; }
    Piece piece(double u) const { return {u > lower && u < 0.0, 1.0 + curvature * u, curvature, lower, 0.0}; }
    double prox_conjugate(double v, double step) const {
        if (curvature == 0.0) return clip(v - step, lower, 0.0);  // a division less
        return clip((v - step) / (1.0 + step * curvature), lower, 0.0);
    }
    double slope_conjugate(double v, double step) const {
        const double scale = 1.0 + step * curvature, u = (v - step) / scale;
        return u > lower && u < 0.0 ? 1.0 / scale : 0.0;
    }
    double derivative(double t) const { return clip((t - 1.0) / curvature, lower, 0.0); }
    double second_derivative(double t) const {
        const double u = (t - 1.0) / curvature;
        return u > lower && u < 0.0 ? 1.0 / curvature : 0.0;
    }
};

// phi*(u) = max(u, -1) on [-slope, 0]
struct GeneralizedHingeLoss {
    static constexpr bool margin = true, quadratic_pieces = true;
    double slope;

    double value(double t) const { return std::max(std::max(1.0 - slope * t, 1.0 - t), 0.0); }
    static double conjugate(double u) { return std::max(u, -1.0); }
    Piece piece(double u) const {
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

// phi*(u) = -u log(-u) + (1 + u) log(1 + u) on [-1, 0]
struct LogisticLoss {
    static constexpr bool margin = true, quadratic_pieces = false;

    static double value(double t) { return std::max(-t, 0.0) + std::log1p(std::exp(-std::fabs(t))); }
    static double conjugate(double u) {
        const double v = 1.0 + u;
        return (u < 0.0 ? -u * std::log(-u) : 0.0) + (v > 0.0 ? v * std::log1p(u) : 0.0);
    }
    // With u = phi'(t) = -1 / (1 + exp(t)), the optimality condition is
    // step t + phi'(t) = v: increasing in t, slope between step and step + 1/4.
    double prox_conjugate(double v, double step) const {
        if (step <= 0.0) return clip(v, -1.0, 0.0);
        double low = v / step, high = (v + 1.0) / step;
        double t = std::clamp(v >= -0.5 ? 0.0 : low, low, high);
        for (int iteration = 0; iteration < 100; ++iteration) {
            const double u = derivative(t);
            const double value = step * t + u - v;
            (value > 0.0 ? high : low) = t;
            const double newton = t - value / (step - u * (1.0 + u));
            const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
            if (std::fabs(next - t) <= 1e-15 * std::max(1.0, std::fabs(t))) break;
            t = next;
        }
        return derivative(t);
    }
    double slope_conjugate(double v, double step) const {
        const double u = prox_conjugate(v, step);
        const double second = -u * (1.0 + u);
        return second / (second + step);
    }
    static double second_derivative(double t) {
        const double u = derivative(t);
        return -u * (1.0 + u);
    }
    static double derivative(double t) {
        if (t >= 0.0) {
            const double e = std::exp(-t);
            return -e / (1.0 + e);
        }
        return -1.0 / (1.0 + std::exp(t));
    }
};

// phi*(u) = tube |u| + (curvature / 2) u^2 on [lower, upper]: squared (no bounds,
// curvature 1), absolute and pinball (bounds), epsilon-insensitive (tube), Huber
// (bounds and curvature 1)
struct ResidualLoss {
    static constexpr bool margin = false, quadratic_pieces = true;
    double lower, upper, tube, curvature;

    double value(double t) const {
        const double shrunk = t - clip(t, -tube, tube);
        if (curvature == 0.0) return std::max(upper * shrunk, lower * shrunk);
        const double u = clip(shrunk / curvature, lower, upper);
        return u * shrunk - 0.5 * curvature * u * u;
    }
    double conjugate(double u) const { return tube * std::fabs(u) + 0.5 * curvature * u * u; }
    Piece piece(double u) const {
        const double first = tube > 0.0 && u >= 0.0 ? 0.0 : lower, last = tube > 0.0 && u <= 0.0 ? 0.0 : upper;
        return {u > first && u < last, curvature * u + std::copysign(tube, u), curvature, first, last};
    }
    double prox_conjugate(double v, double step) const {
        const double threshold = step * tube;
        const double shrunk = v - clip(v, -threshold, threshold);
        if (curvature == 0.0) return clip(shrunk, lower, upper);
        return clip(shrunk / (1.0 + step * curvature), lower, upper);
    }
    double slope_conjugate(double v, double step) const {
        const double scale = 1.0 + step * curvature;
        const double shrunk = v - clip(v, -step * tube, step * tube), u = shrunk / scale;
        return shrunk != 0.0 && u > lower && u < upper ? 1.0 / scale : 0.0;
    }
    double derivative(double t) const { return clip(t / curvature, lower, upper); }
    double second_derivative(double t) const {
        const double u = t / curvature;
        return u > lower && u < upper ? 1.0 / curvature : 0.0;
    }
};

// argmin_theta l*(y, theta) + (theta - (theta_0 + step z))^2 / (2 step)
template <class Loss>
double dual_prox(const Loss& loss, double y, double theta, double z, double step) {
    if constexpr (Loss::margin) return y * loss.prox_conjugate(y * theta + step * y * z, step);
    else return loss.prox_conjugate(theta + step * (z - y), step);
}

template <class Loss>
double primal_value(const Loss& loss, double y, double z) {
    return Loss::margin ? loss.value(y * z) : loss.value(z - y);
}
template <class Loss>
double conjugate(const Loss& loss, double y, double theta) {
    return Loss::margin ? loss.conjugate(y * theta) : loss.conjugate(theta) + y * theta;
}

// The piece of l*(y, .) around theta
template <class Loss>
Piece dual_piece(const Loss& loss, double y, double theta) {
    if constexpr (!Loss::margin) {
        Piece piece = loss.piece(theta);
        piece.slope += y;
        return piece;
    } else {
        const Piece piece = loss.piece(y * theta);
        if (y > 0.0) return piece;
        return {piece.inside, -piece.slope, piece.curvature, -piece.upper, -piece.lower};
    }
}

// The loss as a smooth function of z: itself where sigma is infinite, otherwise its
// Moreau envelope shifted by theta_0, whose derivative is the dual prox with step sigma.
template <class Loss>
struct Smoothed {
    Loss loss;
    double sigma;

    double derivative(double y, double theta, double z) const {
        if (sigma < std::numeric_limits<double>::infinity()) return dual_prox(loss, y, theta, z, sigma);
        if constexpr (requires { loss.derivative(0.0); })
            return Loss::margin ? y * loss.derivative(y * z) : loss.derivative(z - y);
        else return std::numeric_limits<double>::quiet_NaN();
    }
    // the second derivative; in units of sigma where that is finite, which makes it 0 or 1
    // on linear pieces whatever sigma is
    double curvature(double y, double theta, double z) const {
        if (sigma < std::numeric_limits<double>::infinity()) {
            const double v = Loss::margin ? y * theta + sigma * y * z : theta + sigma * (z - y);
            return loss.slope_conjugate(v, sigma);
        }
        if constexpr (requires { loss.derivative(0.0); })
            return Loss::margin ? loss.second_derivative(y * z) : loss.second_derivative(z - y);
        else return std::numeric_limits<double>::quiet_NaN();
    }
};

// Writes the first derivatives, the same times the weights and the curvatures times the
// weights. Adds up the weighted losses at z, and minus their conjugates at the first.
template <class Loss>
SKPD_CLONES void smoothed_derivatives(const Smoothed<Loss>& smoothed, std::size_t n, const double* y,
                                      const double* weights, const double* theta, const double* z, double* derivative,
                                      double* gradient, double* curvature, double* primal, double* dual) {
    const Smoothed<Loss> local = smoothed;  // not to be read again after every write
    const Loss loss = smoothed.loss;
    double primal_sum = 0.0, dual_sum = 0.0;
#pragma omp simd reduction(+ : primal_sum, dual_sum)
    for (std::size_t i = 0; i < n; ++i) {
        const double first = local.derivative(y[i], theta[i], z[i]);
        derivative[i] = first;
        gradient[i] = weights[i] * first;
        curvature[i] = weights[i] * local.curvature(y[i], theta[i], z[i]);
        primal_sum += weights[i] * primal_value(loss, y[i], z[i]);
        dual_sum -= weights[i] * conjugate(loss, y[i], first);
    }
    *primal = primal_sum;
    *dual = dual_sum;
}

// The derivative, at z + step direction, of the weighted sum of the smoothed losses along direction.
template <class Loss>
SKPD_CLONES double smoothed_slope(const Smoothed<Loss>& smoothed, std::size_t n, const double* y,
                                  const double* weights, const double* theta, const double* z,
                                  const double* direction, double step) {
    const Smoothed<Loss> local = smoothed;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i)
        sum += weights[i] * direction[i] * local.derivative(y[i], theta[i], z[i] + step * direction[i]);
    return sum;
}

}  // namespace skpd
