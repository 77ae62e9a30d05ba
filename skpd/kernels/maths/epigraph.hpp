// Euclidean projections of (x, s), x (d), onto {(w, lam): ||w||_q <= aperture lam} and of x onto balls ||w||_q <=
// radius, in place.
//
// For q = 1 the multiplier is the root of a decreasing piecewise-linear function (`l1_threshold`); q = inf follows from
// Moreau's decomposition, and q = 2 is a closed form (Bauschke, 1996, Theorem 3.3.6).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "maths/norms.hpp"

namespace skpd {

// x_j <- sign(x_j) max(|x_j| - eta, 0)
inline void soft_threshold(double* x, std::size_t d, double eta) {
    for (std::size_t j = 0; j < d; ++j) x[j] = std::copysign(std::max(std::fabs(x[j]) - eta, 0.0), x[j]);
}

struct L1Epigraph {
    // Overwrites x by w; returns lam.
    static double project(double* x, std::size_t d, double s, double aperture) {
        const double eta = l1_threshold(x, d, aperture * s, aperture * aperture, 0.0);
        soft_threshold(x, d, eta);
        return std::max(s + aperture * eta, 0.0);
    }
    static void project_ball(double* x, std::size_t d, double radius) {
        soft_threshold(x, d, l1_threshold(x, d, radius, 0.0, 0.0));
    }
};

struct L2Epigraph {
    // w = factor x and lam, which depend on x through its norm only; returns (factor, lam).
    static std::pair<double, double> scales(double norm, double s, double aperture) {
        if (norm <= aperture * s) return {1.0, s};
        if (aperture * norm <= -s) return {0.0, 0.0};
        const double size = (norm * aperture + s) * aperture / (aperture * aperture + 1.0);
        return {size / norm, size / aperture};
    }
    static double project(double* x, std::size_t d, double s, double aperture) {
        const auto [factor, lam] = scales(euclidean_norm(x, d), s, aperture);
        for (std::size_t j = 0; j < d; ++j) x[j] *= factor;
        return lam;
    }
};

struct LInfEpigraph {
    static double project(double* x, std::size_t d, double s, double aperture) {
        if (max_abs(x, d) <= aperture * s) return s;
        // By Moreau, the result is (x, s) plus the projection of (-x, -s) onto minus the polar cone, which is the
        // epigraph of an l1 norm.
        const double inverse = 1.0 / aperture;
        const double eta = l1_threshold(x, d, -inverse * s, inverse * inverse, 0.0);
        for (std::size_t j = 0; j < d; ++j) x[j] = std::copysign(std::min(std::fabs(x[j]), eta), x[j]);
        return inverse * eta;
    }
    static void project_ball(double* x, std::size_t d, double radius) {
        for (std::size_t j = 0; j < d; ++j) x[j] = std::clamp(x[j], -radius, radius);
    }
};

// Calls f with the epigraph of the norm, which must be 1, 2 or inf.
template <class F>
auto with_epigraph(double norm, F f) {
    if (norm == 1.0) return f(L1Epigraph{});
    if (norm == 2.0) return f(L2Epigraph{});
    if (std::isinf(norm)) return f(LInfEpigraph{});
    throw std::invalid_argument("the norm must be 1, 2 or inf");
}

// The minimiser of ||x - v||^2 / 2 + radius max_j |x_j|: v clipped at the level t >= 0 with
// sum_j max(|v_j| - t, 0) = radius, or 0 inside the l1 ball of that radius. v (n), which becomes x.
inline void prox_of_largest(double* v, std::size_t n, double radius) {
    LInfEpigraph::project_ball(v, n, l1_threshold(v, n, radius, 0.0, 0.0));
}

}  // namespace skpd
