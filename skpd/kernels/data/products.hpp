// The products X v and X'u of a matrix X with a vector: in working precision, with bounds on their rounding errors, and
// as unevaluated sums out += X (high + low). In the last the vector is a pair as well, so that the rounding error of a
// product of two vectors can be passed on. `sampled_products` computes single entries of a product of two factors.
//
// Every product is either a gather (one inner product for each major vector) or a scatter (a linear combination of the
// major vectors), so that one loop each serves all layouts, both products and both precisions. The matrix has n_major
// vectors of n_minor entries; a gather maps v (n_minor) to out (n_major), a scatter maps v (n_major) to out (n_minor).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

// The indices of the entries of v (n) that are not 0. It is empty if there are so many that reading all of a dense row
// is faster.
inline std::vector<std::size_t> rare_nonzeros(const double* v, std::size_t n) {
    std::vector<std::size_t> indices;
    for (std::size_t j = 0; j < n; ++j) {
        if (v[j] == 0.0) continue;
        if (16 * indices.size() > n) return {};
        indices.push_back(j);
    }
    return indices;
}

// out[k] = sum, which products write to directly
struct Into {
    double* out;
    void operator()(std::size_t k, double sum) const { out[k] = sum; }
};

// Calls take(k, x_{at(k)} . v) for k < n; v (n_minor). A `Sum` is a number, or a `SumAndMagnitude`.
template <class Sum, class M, class At, class Take>
void dots(const M& matrix, At at, std::size_t n, const double* v, Take take) {
    std::size_t k = 0;
    if constexpr (is_dense<M>)
        for (Sum sums[together]; k + together <= n; k += together) {
            const auto four = matrix.four({at(k), at(k + 1), at(k + 2), at(k + 3)});
            if constexpr (std::is_same_v<Take, Into>) dense_dots(four, v, matrix.n_minor, take.out + k);
            else {
                dense_dots(four, v, matrix.n_minor, sums);
                for (std::size_t i = 0; i < together; ++i) take(k + i, sums[i]);
            }
        }
    for (; k < n; ++k) take(k, matrix.template dot<Sum>(at(k), v));
}

// Calls take(k, x_k . v) for all major vectors.
template <class Sum, class M, class Take>
void all_dots(const M& matrix, const double* v, Take take) {
    if constexpr (is_dense<M>) {
        if (const auto indices = rare_nonzeros(v, matrix.n_minor); !indices.empty()) {
            for (std::size_t k = 0; k < matrix.n_major; ++k) {
                const auto* x = matrix.major(k);
                Sum sum{};
                for (const std::size_t j : indices) sum += static_cast<double>(x[j]) * v[j];
                take(k, sum);
            }
            return;
        }
    }
    dots<Sum>(matrix, [](std::size_t k) { return k; }, matrix.n_major, v, take);
}

// out[k] = sum_j map(x_kj) v_j
template <class Map, class M>
void gather(const M& matrix, const double* v, double* out) {
    if constexpr (std::is_same_v<Map, Identity>)
        return all_dots<double>(matrix, v, Into{out});
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        double sum = 0.0;
        matrix.for_each(k, [&](std::size_t j, double x) { sum += Map::of(x) * v[j]; });
        out[k] = sum;
    }
}

// out[k] = sum_j x_{indices[k], j} v_j; v (n_minor), out (n)
template <class M, class I>
void gather_selected(const M& matrix, const I* indices, std::size_t n, const double* v, double* out) {
    const auto at = [indices](std::size_t k) { return static_cast<std::size_t>(indices[k]); };
    dots<double>(matrix, at, n, v, Into{out});
}

// out[j] += sum_k v_k x_{k, indices[j]}; v (n_major), out (n)
template <class T, class I>
void scatter_selected(const Dense<T>& matrix, const I* indices, std::size_t n, const double* v, double* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if (v[k] == 0.0) continue;
        const T* x = matrix.major(k);
        for (std::size_t j = 0; j < n; ++j) out[j] += v[k] * static_cast<double>(x[indices[j]]);
    }
}

// Calls single(k) for every v_k != 0; of a dense matrix it calls fours(entries, vectors) as long as four are left.
template <class M, class Fours, class Single>
void over_nonzeros(const M& matrix, const double* v, Fours fours, Single single) {
    std::array<std::size_t, together> indices{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if (v[k] == 0.0) continue;
        if constexpr (is_dense<M>) {
            indices[count++] = k;
            if (count < together) continue;
            fours(std::array{v[indices[0]], v[indices[1]], v[indices[2]], v[indices[3]]}, matrix.four(indices));
            count = 0;
        } else single(k);
    }
    for (std::size_t i = 0; i < count; ++i) single(indices[i]);
}

// out[j] += sum_k v_k map(x_kj)
template <class Map, class M>
void scatter(const M& matrix, const double* v, double* out) {
    over_nonzeros(
        matrix, v, [&](const auto& entries, const auto& x) { dense_axpys<Map>(entries, x, out, matrix.n_minor); },
        [&](std::size_t k) {
            if constexpr (std::is_same_v<Map, Identity>) matrix.axpy(k, v[k], out);
            else matrix.for_each(k, [&](std::size_t j, double x) { out[j] += v[k] * Map::of(x); });
        });
}

// The entries of a product and bounds on their errors; error holds sums of magnitudes of terms until `bound` makes
// bounds of them.
struct Bounded {
    double *sum, *error;

    Bounded from(std::size_t first) const { return {sum + first, error + first}; }
    // error[k] <- a bound on the rounding error of entry k, which is a sum of n_terms products of three factors in any
    // order. Underflow adds less than the smallest normal number.
    void bound(std::size_t k, std::size_t n_terms) const {
        const double share = 1.1 * unit_roundoff * static_cast<double>(n_terms + 6);
        error[k] = share * error[k] + std::numeric_limits<double>::min();
    }
};
struct BoundedVector {
    std::vector<double> sum, error;

    explicit BoundedVector(std::size_t n, double value = 0.0) : sum(n, value), error(n, std::fabs(value)) {}
    operator Bounded() { return {sum.data(), error.data()}; }
};

// out[k] += sum_j x_kj v_j, with a bound on its rounding error
template <class M>
void gather_bounded(const M& matrix, const double* v, Bounded out) {
    const auto n = static_cast<std::size_t>(std::count_if(v, v + matrix.n_minor, [](double x) { return x != 0.0; }));
    all_dots<SumAndMagnitude>(matrix, v, [&](std::size_t k, const SumAndMagnitude& row) {
        out.sum[k] += row.sum;
        out.error[k] += row.magnitude;
        out.bound(k, std::min(n, matrix.length(k)));
    });
}

// out[j] += sum_k v_k x_kj, with a bound on its rounding error
template <class M>
void scatter_bounded(const M& matrix, const double* v, Bounded out) {
    std::size_t n = 0;
    over_nonzeros(
        matrix, v,
        [&](const auto& entries, const auto& x) {
            dense_axpys_and_magnitudes(entries, x, out.sum, out.error, matrix.n_minor);
            n += together;
        },
        [&](std::size_t k) {
            matrix.axpy_and_magnitude(k, v[k], out.sum, out.error);
            ++n;
        });
    for (std::size_t j = 0; j < matrix.n_minor; ++j) out.bound(j, n);
}

// The entries of a product are the unevaluated sums high + low, and size holds the sums of the magnitudes of their
// terms.
struct Doubled {
    double *high, *low, *size;

    Doubled from(std::size_t first) const { return {high + first, low + first, size + first}; }
};
struct CompensatedVector {
    std::vector<double> high, low, size;

    explicit CompensatedVector(std::size_t n, double value = 0.0)
        : high(n, value), low(n, 0.0), size(n, std::fabs(value)) {}
    operator Doubled() { return {high.data(), low.data(), size.data()}; }
};

// out[k] += sum_j x_kj v_j as unevaluated sums
template <class M>
void gather_compensated(const M& matrix, const CompensatedVector& v, Doubled out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        Compensated sum{out.high[k], out.low[k], out.size[k]};
        sum.add(matrix.dot_compensated(k, v.high.data(), v.low.data()));
        out.high[k] = sum.high;
        out.low[k] = sum.low;
        out.size[k] = sum.size;
    }
}

// out[j] += sum_k v_k x_kj as unevaluated sums
template <class M>
void scatter_compensated(const M& matrix, const CompensatedVector& v, Doubled out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k)
        if (v.high[k] != 0.0) matrix.axpy_compensated(k, v.high[k], v.low[k], out.high, out.low, out.size);
}

// out_e = sum_k left[rows_e, k] right[columns_e, k] for e < n; left (m, rank) and right (d, rank) are stored by rows.
template <class Index>
void sampled_products(const double* left, const double* right, std::size_t rank, const Index* rows, const Index* columns,
                      std::size_t n, double* out) {
    for (std::size_t e = 0; e < n; ++e) {
        const double* u = left + static_cast<std::size_t>(rows[e]) * rank;
        const double* v = right + static_cast<std::size_t>(columns[e]) * rank;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < rank; ++k) sum += u[k] * v[k];
        out[e] = sum;
    }
}

}  // namespace skpd
