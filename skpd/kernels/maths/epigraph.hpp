// Euclidean projections of (x, s), x (d), onto {(w, lam): ||w||_q <= aperture lam} and of x onto balls ||w||_q <=
// radius, in place.
//
// For q = 1 the multiplier is the root of a decreasing piecewise-linear function, found by quick-select in linear
// expected time (Wang, Wytock and Kolter, 2016, Algorithm 2); q = inf follows from Moreau's decomposition, and q = 2 is
// a closed form (Bauschke, 1996, Theorem 3.3.6).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace skpd {

// The root eta >= 0 of sum_i max(|x_i| - eta, 0) - base - slope eta, which must not be negative at eta = 0; x (d).
inline double soft_threshold_root(const double* x, std::size_t d, double base, double slope,
                                  std::vector<double>& work) {
    work.resize(d);
    for (std::size_t j = 0; j < d; ++j) work[j] = std::fabs(x[j]);
    double sum = -base, count = slope;  // these cover the entries that are known to be above the root
    std::size_t first = 0, last = d;
    while (first < last) {
        const double pivot = work[first + (last - first) / 2];
        double above = 0.0;
        std::size_t greater = first, smaller = last, k = first;
        while (k < smaller) {  // splits the entries into those above, equal to and below the pivot
            if (work[k] > pivot) {
                above += work[k];
                std::swap(work[k++], work[greater++]);
            } else if (work[k] < pivot) {
                std::swap(work[k], work[--smaller]);
            } else {
                ++k;
            }
        }
        const double n_above = static_cast<double>(greater - first), n_equal = static_cast<double>(smaller - greater);
        if (sum + above - (count + n_above) * pivot < 0.0) {  // the root is below the pivot
            sum += above + n_equal * pivot;
            count += n_above + n_equal;
            first = smaller;
        } else {
            last = greater;
        }
    }
    return count > 0.0 ? std::max(sum / count, 0.0) : 0.0;
}

// x_j <- sign(x_j) max(|x_j| - eta, 0)
inline void soft_threshold(double* x, std::size_t d, double eta) {
    for (std::size_t j = 0; j < d; ++j) x[j] = std::copysign(std::max(std::fabs(x[j]) - eta, 0.0), x[j]);
}

// sum_j |x_j|; x (d)
inline double l1_norm(const double* x, std::size_t d) {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) sum += std::fabs(x[j]);
    return sum;
}

struct L1Epigraph {
    // Overwrites x by w; returns lam.
    static double project(double* x, std::size_t d, double s, double aperture, std::vector<double>& work) {
        const double norm = l1_norm(x, d);
        if (norm <= aperture * s) return s;
        const double eta = soft_threshold_root(x, d, aperture * s, aperture * aperture, work);
        soft_threshold(x, d, eta);
        return std::max(s + aperture * eta, 0.0);
    }
    static void project_ball(double* x, std::size_t d, double radius, std::vector<double>& work) {
        const double norm = l1_norm(x, d);
        if (norm > radius) soft_threshold(x, d, soft_threshold_root(x, d, radius, 0.0, work));
    }
};

// The minimiser of ||x - v||^2 / 2 + radius max_j |x_j|: v clipped at the level t >= 0 with
// sum_j max(|v_j| - t, 0) = radius, or 0 inside the l1 ball of that radius. v (n), which becomes x.
inline void prox_of_largest(double* v, std::size_t n, double radius, std::vector<double>& work) {
    const double norm = l1_norm(v, n);
    if (radius == 0.0 || !std::isfinite(norm)) return;
    const double level = norm > radius ? soft_threshold_root(v, n, radius, 0.0, work) : 0.0;
    for (std::size_t j = 0; j < n; ++j) v[j] = std::clamp(v[j], -level, level);
}

struct L2Epigraph {
    // w = factor x and lam, which depend on x through its norm only; returns (factor, lam).
    static std::pair<double, double> scales(double norm, double s, double aperture) {
        if (norm <= aperture * s) return {1.0, s};
        if (aperture * norm <= -s) return {0.0, 0.0};
        const double size = (norm * aperture + s) * aperture / (aperture * aperture + 1.0);
        return {size / norm, size / aperture};
    }
    static double norm(const double* x, std::size_t d) {
        double sum = 0.0;
        for (std::size_t j = 0; j < d; ++j) sum += x[j] * x[j];
        return std::sqrt(sum);
    }
    static double project(double* x, std::size_t d, double s, double aperture, std::vector<double>&) {
        const auto [factor, lam] = scales(norm(x, d), s, aperture);
        for (std::size_t j = 0; j < d; ++j) x[j] *= factor;
        return lam;
    }
    static void project_ball(double* x, std::size_t d, double radius, std::vector<double>&) {
        const double size = norm(x, d);
        if (size > radius)
            for (std::size_t j = 0; j < d; ++j) x[j] *= radius / size;
    }
};

struct LInfEpigraph {
    static double project(double* x, std::size_t d, double s, double aperture, std::vector<double>& work) {
        double norm = 0.0;
        for (std::size_t j = 0; j < d; ++j) norm = std::max(norm, std::fabs(x[j]));
        if (norm <= aperture * s) return s;
        // By Moreau, the result is (x, s) plus the projection of (-x, -s) onto minus the polar cone, which is the
        // epigraph of an l1 norm.
        const double inverse = 1.0 / aperture;
        const double sum = l1_norm(x, d);
        if (sum <= -inverse * s) {
            std::fill_n(x, d, 0.0);
            return 0.0;
        }
        const double eta = soft_threshold_root(x, d, -inverse * s, inverse * inverse, work);
        for (std::size_t j = 0; j < d; ++j) x[j] = std::copysign(std::min(std::fabs(x[j]), eta), x[j]);
        return inverse * eta;
    }
    static void project_ball(double* x, std::size_t d, double radius, std::vector<double>&) {
        for (std::size_t j = 0; j < d; ++j) x[j] = std::clamp(x[j], -radius, radius);
    }
};

}  // namespace skpd
