// The products of `dense_vectors.hpp` beside the sums of the magnitudes of their terms, from which
// bounds on their rounding errors follow.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "data/dense_vectors.hpp"

namespace skpd {

// A sum of terms beside that of their magnitudes
struct Sized {
    double sum = 0.0, size = 0.0;
};
template <class T>
SKPD_CLONES Sized dense_dot_sized(const T* x, const double* v, std::size_t n) {
    double sum = 0.0, size = 0.0;
#pragma omp simd reduction(+ : sum, size)
    for (std::size_t j = 0; j < n; ++j) {
        const double product = static_cast<double>(x[j]) * v[j];
        sum += product;
        size += std::fabs(product);
    }
    return {sum, size};
}
template <class T>
SKPD_CLONES void dense_dots_sized(const Four<T>& x, const double* v, std::size_t n, Sized* out) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double sum_a = 0.0, sum_b = 0.0, sum_c = 0.0, sum_d = 0.0;
    double size_a = 0.0, size_b = 0.0, size_c = 0.0, size_d = 0.0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d, size_a, size_b, size_c, size_d)
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = static_cast<double>(a[j]) * v[j], in_b = static_cast<double>(b[j]) * v[j];
        const double in_c = static_cast<double>(c[j]) * v[j], in_d = static_cast<double>(d[j]) * v[j];
        sum_a += in_a;
        sum_b += in_b;
        sum_c += in_c;
        sum_d += in_d;
        size_a += std::fabs(in_a);
        size_b += std::fabs(in_b);
        size_c += std::fabs(in_c);
        size_d += std::fabs(in_d);
    }
    out[0] = {sum_a, size_a};
    out[1] = {sum_b, size_b};
    out[2] = {sum_c, size_c};
    out[3] = {sum_d, size_d};
}
template <class T>
SKPD_CLONES void dense_axpy_sized(double a, const T* x, double* sum, double* size, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double product = a * static_cast<double>(x[j]);
        sum[j] += product;
        size[j] += std::fabs(product);
    }
}

template <class T>
SKPD_CLONES void dense_axpys_sized(const std::array<double, together>& v, const Four<T>& x, double* sum, double* size, std::size_t n) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v_a = v[0], v_b = v[1], v_c = v[2], v_d = v[3];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = v_a * static_cast<double>(a[j]), in_b = v_b * static_cast<double>(b[j]);
        const double in_c = v_c * static_cast<double>(c[j]), in_d = v_d * static_cast<double>(d[j]);
        sum[j] += (in_a + in_b) + (in_c + in_d);
        size[j] += (std::fabs(in_a) + std::fabs(in_b)) + (std::fabs(in_c) + std::fabs(in_d));
    }
}

}  // namespace skpd
