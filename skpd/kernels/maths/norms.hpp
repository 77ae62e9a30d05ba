// ||x||_1, ||x||_2 and max_j |x_j| of vectors x (n), soft(v, tau) = sign(v) max(|v| - tau, 0), and the threshold tau of
// the projection onto an l1 ball.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "data/compensated.hpp"
#include "data/products.hpp"
#include "maths/losses.hpp"

namespace skpd {

// max_j |x_j|; NaN if any x_j is NaN, since magnitudes are ordered as their bits are and NaN is above all
template <class T>
SKPD_CLONES double max_abs(const T* x, std::size_t n) {
    std::int64_t largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::size_t j = 0; j < n; ++j)
        largest = std::max(largest, std::bit_cast<std::int64_t>(std::fabs(static_cast<double>(x[j]))));
    return std::bit_cast<double>(largest);
}

// sum_j map(x_j), of terms >= 0; x (n)
template <class Map>
SKPD_CLONES double plain_sum(const double* x, std::size_t n) {
    const auto sums =
        interleaved_sums<double, 32>(std::size_t{0}, n, [&](double& sum, std::size_t j) { sum += Map::of(x[j]); });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}
// sum_j map(x_j), of terms >= 0, with the rounding error of a few dozen terms however large n is; x (n)
template <class Map>
double sum_of(const double* x, std::size_t n) {
    constexpr std::size_t block = 512;
    if (n <= block) return plain_sum<Map>(x, n);
    Compensated total;
    for (std::size_t first = 0; first < n; first += block)
        total.add(plain_sum<Map>(x + first, std::min(block, n - first)));
    return std::isfinite(total.high) ? total.high + total.low : total.high;
}

// ||x||_1
inline double sum_abs(const double* x, std::size_t n) { return sum_of<Absolute>(x, n); }

// ||x||_2, which neither underflows nor overflows on the way
inline double euclidean_norm(const double* x, std::size_t n) {
    const double square = sum_of<Square>(x, n);
    if ((square > 1e-250 && square < 1e280) || std::isnan(square)) return std::sqrt(square);
    const double largest = max_abs(x, n);
    if (largest == 0.0 || !std::isfinite(largest)) return largest;
    std::vector<double> scaled(x, x + n);
    for (double& value : scaled) value /= largest;
    return largest * std::sqrt(sum_of<Square>(scaled.data(), n));
}

// The least tau >= 0 with sum_j max(|v_j| - tau, 0) <= total + slope tau, by Newton steps from any tau if slope = 0, and
// from 0 if slope > 0. The difference of the sides is convex and decreases, so that the steps after the first one
// increase tau. v (n).
SKPD_CLONES inline double l1_threshold(const double* v, std::size_t n, double total, double slope, double tau) {
    for (int step = 0; step < 100; ++step) {
        double sum = -total - slope * tau, n_above = 0.0;
#pragma omp simd reduction(+ : sum, n_above)
        for (std::size_t j = 0; j < n; ++j) {
            const double excess = std::fabs(v[j]) - tau;
            sum += std::max(excess, 0.0);
            n_above += excess > 0.0 ? 1.0 : 0.0;
        }
        if (n_above == 0.0) {
            if (slope > 0.0) return std::max(-total / slope, tau);  // tau may be the largest |v_j| by rounding
            if (tau == 0.0 || step > 0) return tau;
            tau = 0.0;  // the steps start again from below
            continue;
        }
        const double next = std::max(tau + sum / (slope + n_above), 0.0);
        if (next == tau || (step > 0 && next <= tau)) return tau;
        tau = next;
    }
    return tau;
}

// sign(v) max(|v| - tau, 0)
inline double soft(double v, double tau) { return v - clip(v, -tau, tau); }

}  // namespace skpd
