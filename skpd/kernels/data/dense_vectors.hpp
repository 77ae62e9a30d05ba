// x . v and out += a x for dense vectors x of either precision, in double precision, for one vector x (n) and for four
// at once. The variants with magnitudes also sum the magnitudes of the terms, from which bounds on the rounding errors
// follow.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "data/compensated.hpp"

namespace skpd {

// Prefetches x (n): a processor foresees what is read within a vector, but not which vector comes after it.
template <class T>
SKPD_INLINE void prefetch(const T* x, std::size_t n) {
#if defined(__GNUC__)
    constexpr std::size_t line = 64 / sizeof(T);
    for (std::size_t k = 0; k < n; k += line) __builtin_prefetch(x + k);
#endif
}

// x . v, which prefetches `next` if it is given, the vector whose product comes after it
template <class T>
SKPD_CLONES double dense_dot(const T* x, const double* v, std::size_t n, const T* next = nullptr) {
    constexpr std::size_t max_bytes = std::size_t{1} << 16;  // so many bytes stay in the cache until they are read
    constexpr std::size_t lanes = 32;  // so many sums let additions overlap
    if (n * sizeof(T) > max_bytes) next = nullptr;
    double sums[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        if (next) prefetch(next + j, lanes);
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += static_cast<double>(x[j + k]) * v[j + k];
    }
    double sum = 0.0;
    for (; j < n; ++j) sum += static_cast<double>(x[j]) * v[j];
    for (std::size_t k = 0; k < lanes; ++k) sum += sums[k];
    return sum;
}

// x . x
template <class T>
SKPD_CLONES double squared_norm(const T* x, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    return sum;
}

// out += a x
template <class T>
SKPD_CLONES void dense_axpy(double a, const T* x, double* out, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] += a * static_cast<double>(x[j]);
}

// The number of vectors that the products below read at once: v or out is read once for all four, and four streams use
// the bandwidth of memory well.
constexpr std::size_t together = 4;
template <class T>
using Four = std::array<const T*, together>;

// out_k = x_k . v for k < 4
template <class T, class V>
SKPD_CLONES void dense_dots(const Four<T>& x, const V* v, std::size_t n, double* out) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double sum_a = 0.0, sum_b = 0.0, sum_c = 0.0, sum_d = 0.0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d)
    for (std::size_t j = 0; j < n; ++j) {
        const double in = static_cast<double>(v[j]);
        sum_a += static_cast<double>(a[j]) * in;
        sum_b += static_cast<double>(b[j]) * in;
        sum_c += static_cast<double>(c[j]) * in;
        sum_d += static_cast<double>(d[j]) * in;
    }
    out[0] = sum_a;
    out[1] = sum_b;
    out[2] = sum_c;
    out[3] = sum_d;
}

// Products apply one of these functions map(x) to each matrix entry.
struct Identity {
    static double of(double x) { return x; }
};
struct Absolute {
    static double of(double x) { return std::fabs(x); }
};
struct Square {
    static double of(double x) { return x * x; }
};

// out += sum_k v_k map(x_k)
template <class Map = Identity, class T>
SKPD_CLONES void dense_axpys(const std::array<double, together>& v, const Four<T>& x, double* out,
                             std::size_t n) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v_a = v[0], v_b = v[1], v_c = v[2], v_d = v[3];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j)
        out[j] += (v_a * Map::of(static_cast<double>(a[j])) + v_b * Map::of(static_cast<double>(b[j]))) +
                  (v_c * Map::of(static_cast<double>(c[j])) + v_d * Map::of(static_cast<double>(d[j])));
}

// This holds sum_k t_k and sum_k |t_k| of terms t_k.
struct SumAndMagnitude {
    double sum = 0.0, magnitude = 0.0;

    void operator+=(double term) {
        sum += term;
        magnitude += std::fabs(term);
    }
    SumAndMagnitude operator+(const SumAndMagnitude& other) const {
        return {sum + other.sum, magnitude + other.magnitude};
    }
};
// x . v and sum_j |x_j v_j|
template <class T>
SKPD_CLONES SumAndMagnitude dense_dot_and_magnitude(const T* x, const double* v, std::size_t n) {
    double sum = 0.0, magnitude = 0.0;
#pragma omp simd reduction(+ : sum, magnitude)
    for (std::size_t j = 0; j < n; ++j) {
        const double product = static_cast<double>(x[j]) * v[j];
        sum += product;
        magnitude += std::fabs(product);
    }
    return {sum, magnitude};
}

// out_k = x_k . v and sum_j |x_kj v_j| for k < 4
template <class T>
SKPD_CLONES void dense_dots(const Four<T>& x, const double* v, std::size_t n, SumAndMagnitude* out) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double sum_a = 0.0, sum_b = 0.0, sum_c = 0.0, sum_d = 0.0;
    double magnitude_a = 0.0, magnitude_b = 0.0, magnitude_c = 0.0, magnitude_d = 0.0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d) \
    reduction(+ : magnitude_a, magnitude_b, magnitude_c, magnitude_d)
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = static_cast<double>(a[j]) * v[j], in_b = static_cast<double>(b[j]) * v[j];
        const double in_c = static_cast<double>(c[j]) * v[j], in_d = static_cast<double>(d[j]) * v[j];
        sum_a += in_a;
        sum_b += in_b;
        sum_c += in_c;
        sum_d += in_d;
        magnitude_a += std::fabs(in_a);
        magnitude_b += std::fabs(in_b);
        magnitude_c += std::fabs(in_c);
        magnitude_d += std::fabs(in_d);
    }
    out[0] = {sum_a, magnitude_a};
    out[1] = {sum_b, magnitude_b};
    out[2] = {sum_c, magnitude_c};
    out[3] = {sum_d, magnitude_d};
}

// sum += a x, magnitude += |a x|
template <class T>
SKPD_CLONES void dense_axpy_and_magnitude(double a, const T* x, double* sum, double* magnitude, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double product = a * static_cast<double>(x[j]);
        sum[j] += product;
        magnitude[j] += std::fabs(product);
    }
}

// sum += sum_k v_k x_k, magnitude += sum_k |v_k x_k|
template <class T>
SKPD_CLONES void dense_axpys_and_magnitudes(const std::array<double, together>& v, const Four<T>& x, double* sum,
                                            double* magnitude, std::size_t n) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v_a = v[0], v_b = v[1], v_c = v[2], v_d = v[3];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = v_a * static_cast<double>(a[j]), in_b = v_b * static_cast<double>(b[j]);
        const double in_c = v_c * static_cast<double>(c[j]), in_d = v_d * static_cast<double>(d[j]);
        sum[j] += (in_a + in_b) + (in_c + in_d);
        magnitude[j] += (std::fabs(in_a) + std::fabs(in_b)) + (std::fabs(in_c) + std::fabs(in_d));
    }
}

}  // namespace skpd
