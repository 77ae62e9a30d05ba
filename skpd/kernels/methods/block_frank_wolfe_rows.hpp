// What block Frank-Wolfe does with the rows: the moves of the dual variables, their share of the gap,
// and the derivatives of the dual along a row.
#pragma once

#include <cmath>
#include <cstddef>

#include "data/compensated.hpp"
#include "maths/losses.hpp"
#include "maths/soft_threshold.hpp"

namespace skpd {

// For every row where its dual variable would go, (10), and how far.
template <class Loss>
SKPD_CLONES void potential_moves(const Loss& loss, std::size_t n, const double* y, const double* theta,
                                 const double* z, const double* step, double* moved, double* score) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        moved[i] = dual_prox(local, y[i], theta[i], z[i], step[i]);
        score[i] = std::fabs(moved[i] - theta[i]);
    }
}

// The rows' share of the gap. Not in the loop above: GCC 12 compiles the two together wrongly for AVX.
template <class Loss>
SKPD_CLONES double fenchel_young_gap(const Loss& loss, std::size_t n, const double* y, const double* weights,
                                     const double* theta, const double* z) {
    const Loss local = loss;
    double gap = 0.0;
#pragma omp simd reduction(+ : gap)
    for (std::size_t i = 0; i < n; ++i)
        gap += weights[i] * (primal_value(local, y[i], z[i]) + conjugate(local, y[i], theta[i]) - theta[i] * z[i]);
    return gap;
}

// sum_j a_j soft(g_j, tau) and sum_j a_j sign_j
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

}  // namespace skpd
