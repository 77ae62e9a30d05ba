// The two products of a matrix with a vector.
//
// Every product is either a gather (one inner product for each major vector) or a scatter (a
// linear combination of the major vectors), so that one loop each serves all layouts, both
// products and both precisions.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

// The functions of a matrix entry that products use.
struct Identity {
    static double of(double x) { return x; }
};
struct Absolute {
    static double of(double x) { return std::fabs(x); }
};
struct Square {
    static double of(double x) { return x * x; }
};

// The places where a vector is not zero. None where they are too many for a product that reads only
// these places of a dense row to be faster.
inline std::vector<std::size_t> rare_nonzeros(const double* v, std::size_t n) {
    std::vector<std::size_t> places;
    for (std::size_t j = 0; j < n; ++j) {
        if (v[j] == 0.0) continue;
        if (16 * places.size() > n) return {};
        places.push_back(j);
    }
    return places;
}

// out[k] = x_{at(k)} . v for k < n
template <class M, class At>
void dots(const M& matrix, At at, std::size_t n, const double* v, double* out) {
    std::size_t k = 0;
    if constexpr (is_dense<M>)
        for (; k + together <= n; k += together)
            dense_dots(matrix.four({at(k), at(k + 1), at(k + 2), at(k + 3)}), v, matrix.n_minor, out + k);
    for (; k < n; ++k) out[k] = matrix.dot(at(k), v);
}

// out[k] = sum_j map(x_kj) v_j
template <class Map, class M>
void gather(const M& matrix, const double* v, double* out) {
    if constexpr (is_dense<M> && std::is_same_v<Map, Identity>) {
        if (const auto places = rare_nonzeros(v, matrix.n_minor); !places.empty()) {
            for (std::size_t k = 0; k < matrix.n_major; ++k) {
                const auto* x = matrix.major(k);
                double sum = 0.0;
                for (const std::size_t j : places) sum += static_cast<double>(x[j]) * v[j];
                out[k] = sum;
            }
            return;
        }
    }
    if constexpr (std::is_same_v<Map, Identity>) {
        dots(matrix, [](std::size_t k) { return k; }, matrix.n_major, v, out);
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k) {
            double sum = 0.0;
            matrix.for_each(k, [&](std::size_t j, double x) { sum += Map::of(x) * v[j]; });
            out[k] = sum;
        }
    }
}

// out[k] = sum_j x_{some[k], j} v_j
template <class M, class I>
void gather_some(const M& matrix, const I* some, std::size_t n, const double* v, double* out) {
    dots(matrix, [&](std::size_t k) { return static_cast<std::size_t>(some[k]); }, n, v, out);
}

// out[j] += sum_k v_k x_{k, some[j]}
template <class T, class I>
void scatter_some(const Dense<T>& matrix, const I* some, std::size_t n, const double* v, double* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if (v[k] == 0.0) continue;
        const T* x = matrix.major(k);
        for (std::size_t j = 0; j < n; ++j) out[j] += v[k] * static_cast<double>(x[some[j]]);
    }
}

// fours(places) for every four entries of v that are not 0, and single(k) for those left over
template <class Fours, class Single>
void over_nonzeros(const double* v, std::size_t n, Fours fours, Single single) {
    std::array<std::size_t, together> places{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (v[k] == 0.0) continue;
        places[count++] = k;
        if (count < together) continue;
        fours(places);
        count = 0;
    }
    for (std::size_t i = 0; i < count; ++i) single(places[i]);
}

// out[j] += sum_k v_k map(x_kj)
template <class Map, class M>
void scatter(const M& matrix, const double* v, double* out) {
    if constexpr (is_dense<M> && std::is_same_v<Map, Identity>) {
        over_nonzeros(
            v, matrix.n_major,
            [&](const auto& k) {
                dense_axpys({v[k[0]], v[k[1]], v[k[2]], v[k[3]]}, matrix.four(k), out, matrix.n_minor);
            },
            [&](std::size_t k) { matrix.axpy(k, v[k], out); });
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k) {
            if (v[k] == 0.0) continue;
            if constexpr (std::is_same_v<Map, Identity>) {
                matrix.axpy(k, v[k], out);
            } else {
                matrix.for_each(k, [&](std::size_t j, double x) { out[j] += v[k] * Map::of(x); });
            }
        }
    }
}

}  // namespace skpd
