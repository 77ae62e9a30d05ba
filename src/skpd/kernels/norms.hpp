// Norms of vectors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compensated.hpp"

namespace skpd {

// ||x||_2, safe from under- and overflow
inline double euclidean_norm(const double* x, std::size_t n) {
    double square = 0.0, largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) square += x[j] * x[j];
    if ((square > 1e-280 && square < 1e280) || std::isnan(square)) return std::sqrt(square);
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::fabs(x[j]));
    if (largest == 0.0 || std::isinf(largest)) return largest;
    square = 0.0;
    for (std::size_t j = 0; j < n; ++j) square += (x[j] / largest) * (x[j] / largest);
    return largest * std::sqrt(square);
}

// max_j |x_j|, NaN if there is one: magnitudes are ordered as their bits are, NaN above all
SKPD_CLONES inline double max_abs(const double* x, std::size_t n) {
    std::int64_t largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::bit_cast<std::int64_t>(std::fabs(x[j])));
    return std::bit_cast<double>(largest);
}

SKPD_CLONES inline double plain_sum_abs(const double* x, std::size_t n) {
    constexpr std::size_t lanes = 32;  // several vectors, so that their additions overlap
    double sums[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += std::fabs(x[j + k]);
    double sum = 0.0;
    for (; j < n; ++j) sum += std::fabs(x[j]);
    for (std::size_t k = 0; k < lanes; ++k) sum += sums[k];
    return sum;
}
// ||x||_1, its rounding error that of a few dozen terms however many there are
inline double sum_abs(const double* x, std::size_t n) {
    constexpr std::size_t block = 512;
    Compensated total;
    for (std::size_t first = 0; first < n; first += block)
        total.add(plain_sum_abs(x + first, std::min(block, n - first)));
    return std::isfinite(total.high) ? total.high + total.low : total.high;
}

}  // namespace skpd
