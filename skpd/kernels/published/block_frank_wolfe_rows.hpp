// The rows in block Frank-Wolfe, whose vectors have n entries:
//   next_theta_i = dual_prox(l, y_i, theta_i, z_i, step_i)    (`potential_moves`),
//   sum_i c_i (l(y_i, z_i) + l*(y_i, theta_i) - theta_i z_i)    (`fenchel_young_gap`),
// the choice of the rows that move, and the derivatives of the dual along a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/layouts.hpp"
#include "maths/losses.hpp"
#include "maths/norms.hpp"

namespace skpd {

// next_theta_i is the dual variable after its move, (10), and length_i = |next_theta_i - theta_i|.
template <class Loss>
SKPD_CLONES void potential_moves(const Loss& loss, std::size_t n, const double* y, const double* theta,
                                 const double* z, const double* step, double* next_theta, double* length) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        next_theta[i] = dual_prox(local, y[i], theta[i], z[i], step[i]);
        length[i] = std::fabs(next_theta[i] - theta[i]);
    }
}

// sum_i c_i (l(y_i, z_i) + l*(y_i, theta_i) - theta_i z_i), the share of the rows in the gap. It is a loop of its own,
// since GCC 12 compiles it wrongly for AVX as a part of the loop above.
template <class Loss>
SKPD_CLONES double fenchel_young_gap(const Loss& loss, std::size_t n, const double* y, const double* weights,
                                     const double* theta, const double* z) {
    const Loss local = loss;
    double gap = 0.0;
#pragma omp simd reduction(+ : gap)
    for (std::size_t i = 0; i < n; ++i) gap += weights[i] * fenchel_young(local, y[i], theta[i], z[i]);
    return gap;
}

// Writes the rows of the k longest moves, (11), without those of length 0. Among moves of equal length the first rows
// are chosen.
inline void longest_moves(const std::vector<double>& length, std::size_t k,
                          std::vector<double>& sorted, std::vector<std::uint32_t>& rows) {
    const std::size_t n = length.size();
    double min_length = 0.0;
    if (k < n) {
        sorted = length;
        const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(sorted.begin(), place, sorted.end(), std::greater<double>());
        min_length = *place;
    }
    rows.clear();
    for (const bool tie : {false, true})
        for (std::size_t i = 0; i < n && rows.size() < k; ++i)
            if (length[i] > 0.0 && (tie ? length[i] == min_length : length[i] > min_length))
                rows.push_back(static_cast<std::uint32_t>(i));
}

// excess = sum_j a_j soft(g_j, tau) and slope = sum_j a_j signs_j for a row a (d); g and signs (d)
struct AlongRow {
    double excess = 0.0, slope = 0.0;
};
template <class T>
SKPD_CLONES AlongRow along_dense_row(const T* a, const double* g, const double* signs, double tau, std::size_t n) {
    double excess = 0.0, slope = 0.0;
#pragma omp simd reduction(+ : excess, slope)
    for (std::size_t j = 0; j < n; ++j) {
        excess += static_cast<double>(a[j]) * soft(g[j], tau);
        slope += static_cast<double>(a[j]) * signs[j];
    }
    return {excess, slope};
}
template <class T>
AlongRow along_row(const Dense<T>& rows, std::size_t i, const double* g, const double* signs, double tau) {
    return along_dense_row(rows.major(i), g, signs, tau, rows.n_minor);
}
template <class T, class I>
AlongRow along_row(const Sparse<T, I>& rows, std::size_t i, const double* g, const double* signs, double tau) {
    const auto add = [&](AlongRow& total, I p) {
        const double a = static_cast<double>(rows.data[p]);
        const I j = rows.indices[p];
        total.excess += a * soft(g[j], tau);
        total.slope += a * signs[j];
    };
    const auto [even, odd] = interleaved_sums<AlongRow, 2>(rows.indptr[i], rows.indptr[i + 1], add);
    return {even.excess + odd.excess, even.slope + odd.slope};
}
inline AlongRow along_row(const MajorVectors& rows, std::size_t i, const double* g, const double* signs, double tau) {
    return rows.visit([&](const auto& layout) { return along_row(layout, i, g, signs, tau); });
}

}  // namespace skpd
