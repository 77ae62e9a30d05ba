// The two products of a matrix with a vector, with bounds on their rounding errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "data/products.hpp"

namespace skpd {

// Entries of a product and bounds on their errors, which are sums of the magnitudes of the terms
// until `bound` makes bounds of them.
struct Bounded {
    double *sum, *error;

    Bounded from(std::size_t first) const { return {sum + first, error + first}; }
    // Turns error[k] into a bound on the rounding error of entry k, a sum of n_terms products of
    // three factors in any order. Underflow adds less than the smallest normal number.
    void bound(std::size_t k, std::size_t n_terms) const {
        constexpr double unit = 1.1102230246251565e-16;  // 2^-53
        error[k] = 1.1 * unit * static_cast<double>(n_terms + 6) * error[k] + std::numeric_limits<double>::min();
    }
};
struct BoundedVector {
    std::vector<double> sum, error;

    explicit BoundedVector(std::size_t n, double value = 0.0) : sum(n, value), error(n, std::fabs(value)) {}
    operator Bounded() { return {sum.data(), error.data()}; }
};

// out[k] += sum_j x_kj v_j
template <class M>
void gather_bounded(const M& matrix, const double* v, Bounded out) {
    if constexpr (is_dense<M>) {
        if (const auto places = rare_nonzeros(v, matrix.n_minor); !places.empty()) {
            for (std::size_t k = 0; k < matrix.n_major; ++k) {
                const auto* x = matrix.major(k);
                SumAndMagnitude row;
                for (const std::size_t j : places) {
                    const double product = static_cast<double>(x[j]) * v[j];
                    row.sum += product;
                    row.magnitude += std::fabs(product);
                }
                out.sum[k] += row.sum;
                out.error[k] += row.magnitude;
                out.bound(k, places.size());
            }
            return;
        }
    }
    const auto n = static_cast<std::size_t>(std::count_if(v, v + matrix.n_minor, [](double x) { return x != 0.0; }));
    const auto add = [&](std::size_t k, const SumAndMagnitude& row) {
        out.sum[k] += row.sum;
        out.error[k] += row.magnitude;
        out.bound(k, std::min(n, matrix.length(k)));
    };
    std::size_t k = 0;
    if constexpr (is_dense<M>)
        for (SumAndMagnitude rows[together]; k + together <= matrix.n_major; k += together) {
            dense_dots_and_magnitudes(matrix.four({k, k + 1, k + 2, k + 3}), v, matrix.n_minor, rows);
            for (std::size_t i = 0; i < together; ++i) add(k + i, rows[i]);
        }
    for (; k < matrix.n_major; ++k) add(k, matrix.dot_and_magnitude(k, v));
}

// out[j] += sum_k v_k x_kj
template <class M>
void scatter_bounded(const M& matrix, const double* v, Bounded out) {
    std::size_t n = 0;
    const auto single = [&](std::size_t k) {
        matrix.axpy_and_magnitude(k, v[k], out.sum, out.error);
        ++n;
    };
    if constexpr (is_dense<M>) {
        const auto fours = [&](const auto& k) {
            dense_axpys_and_magnitudes({v[k[0]], v[k[1]], v[k[2]], v[k[3]]}, matrix.four(k), out.sum, out.error,
                                       matrix.n_minor);
            n += together;
        };
        over_nonzeros(v, matrix.n_major, fours, single);
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k)
            if (v[k] != 0.0) single(k);
    }
    for (std::size_t j = 0; j < matrix.n_minor; ++j) out.bound(j, n);
}

}  // namespace skpd
