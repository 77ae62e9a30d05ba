// The four element layouts of a data matrix and the two loops over them.
//
// A matrix is a sequence of "major" vectors: rows for CSR and C order, columns for
// CSC and Fortran order. Every product is then either a gather (one inner product
// for each major vector) or a scatter (a linear combination of the major vectors),
// so that one loop each serves all layouts, both products and both precisions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compensated.hpp"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define SKPD_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define SKPD_CLONES
#endif

namespace skpd {

// What a product does with an entry of the matrix.
struct Identity {
    static double of(double x) { return x; }
};
struct Absolute {
    static double of(double x) { return std::fabs(x); }
};
struct Square {
    static double of(double x) { return x * x; }
};

SKPD_CLONES inline double dense_dot(const double* x, const double* v, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n; ++j) sum += x[j] * v[j];
    return sum;
}
SKPD_CLONES inline double dense_dot(const float* x, const double* v, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * v[j];
    return sum;
}
SKPD_CLONES inline void dense_axpy(double a, const double* x, double* out, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] += a * x[j];
}
SKPD_CLONES inline void dense_axpy(double a, const float* x, double* out, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] += a * static_cast<double>(x[j]);
}

template <class T>
struct Dense {
    const T* data;
    std::size_t n_major, n_minor;
    std::ptrdiff_t stride;  // between major vectors, in elements

    const T* major(std::size_t k) const { return data + static_cast<std::ptrdiff_t>(k) * stride; }

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        const T* x = major(k);
        for (std::size_t j = 0; j < n_minor; ++j) visit(j, static_cast<double>(x[j]));
    }
    double dot(std::size_t k, const double* v) const { return dense_dot(major(k), v, n_minor); }
    void axpy(std::size_t k, double a, double* out) const { dense_axpy(a, major(k), out, n_minor); }
};

template <class T, class I>
struct Sparse {
    const T* data;
    const I* indices;
    const I* indptr;
    std::size_t n_major, n_minor;

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p)
            visit(static_cast<std::size_t>(indices[p]), static_cast<double>(data[p]));
    }
    double dot(std::size_t k, const double* v) const {
        double even = 0.0, odd = 0.0;  // two chains, so that additions overlap
        I p = indptr[k];
        const I end = indptr[k + 1];
        for (; p + 1 < end; p += 2) {
            even += static_cast<double>(data[p]) * v[indices[p]];
            odd += static_cast<double>(data[p + 1]) * v[indices[p + 1]];
        }
        if (p < end) even += static_cast<double>(data[p]) * v[indices[p]];
        return even + odd;
    }
    void axpy(std::size_t k, double a, double* out) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) out[indices[p]] += a * static_cast<double>(data[p]);
    }
};

// out[k] = sum_j map(x_kj) v_j
template <class Map, class M>
void gather(const M& matrix, const double* v, double* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if constexpr (std::is_same_v<Map, Identity>) {
            out[k] = matrix.dot(k, v);
        } else {
            double sum = 0.0;
            matrix.for_each(k, [&](std::size_t j, double x) { sum += Map::of(x) * v[j]; });
            out[k] = sum;
        }
    }
}

// out[j] += sum_k v_k map(x_kj)
template <class Map, class M>
void scatter(const M& matrix, const double* v, double* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if (v[k] == 0.0) continue;
        if constexpr (std::is_same_v<Map, Identity>) {
            matrix.axpy(k, v[k], out);
        } else {
            matrix.for_each(k, [&](std::size_t j, double x) { out[j] += v[k] * Map::of(x); });
        }
    }
}

// The same two products in twice the working precision. The vector is a pair high + low
// as well, so that the rounding of a product of two vectors is not lost.
template <class M>
void gather_compensated(const M& matrix, const Compensated* v, Compensated* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        Compensated sum = out[k];
        matrix.for_each(k, [&](std::size_t j, double x) {
            sum.add_product(x, v[j].high);
            sum.low += x * v[j].low;
        });
        out[k] = sum;
    }
}

template <class M>
void scatter_compensated(const M& matrix, const Compensated* v, Compensated* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        const Compensated a = v[k];
        if (a.high == 0.0) continue;
        matrix.for_each(k, [&](std::size_t j, double x) {
            out[j].add_product(x, a.high);
            out[j].low += x * a.low;
        });
    }
}

}  // namespace skpd
