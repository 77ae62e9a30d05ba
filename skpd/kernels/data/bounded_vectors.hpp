// The products of `dense_vectors.hpp` beside the sums of the magnitudes of their terms, from which
// bounds on their rounding errors follow.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "data/dense_vectors.hpp"

namespace skpd {

// A sum of terms and the sum of their magnitudes
struct SumAndMagnitude {
    double sum = 0.0, magnitude = 0.0;
};
// x . v
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

// out_k = x_k . v
template <class T>
SKPD_CLONES void dense_dots_and_magnitudes(const Four<T>& x, const double* v, std::size_t n,
                                           SumAndMagnitude* out) {
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

// sum += a x
template <class T>
SKPD_CLONES void dense_axpy_and_magnitude(double a, const T* x, double* sum, double* magnitude, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double product = a * static_cast<double>(x[j]);
        sum[j] += product;
        magnitude[j] += std::fabs(product);
    }
}

// sum += sum_k v_k x_k
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
