// Inner products and linear combinations of dense and sparse vectors in twice the working precision.
#pragma once

#include <cmath>
#include <cstddef>

#include "data/compensated.hpp"

namespace skpd {

// sum_j x_j (high_j + low_j) in twice the working precision, in lanes that a processor
// takes as one vector.
template <class T>
SKPD_CLONES Compensated dense_dot_compensated(const T* x, const double* high, const double* low, std::size_t n) {
    constexpr std::size_t lanes = 8;
    double sum[lanes] = {}, rest[lanes] = {}, size[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            const double a = static_cast<double>(x[j + k]), product = a * high[j + k];
            const double next = sum[k] + product, tail = next - sum[k];
            rest[k] += (sum[k] - (next - tail)) + (product - tail) +
                       (Compensated::product_error(a, high[j + k], product) + a * low[j + k]);
            sum[k] = next;
            size[k] += std::fabs(product);
        }
    }
    Compensated total;
    for (; j < n; ++j) {
        total.add_product(static_cast<double>(x[j]), high[j]);
        total.low += static_cast<double>(x[j]) * low[j];
    }
    for (std::size_t k = 0; k < lanes; ++k) total.add(Compensated{sum[k], rest[k], size[k]});
    return total;
}
// out_j += x_j (high + low)
template <class T>
SKPD_CLONES void dense_axpy_compensated(double high, double low, const T* x, double* sum, double* rest, double* size,
                                        std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) {
        const double a = static_cast<double>(x[j]), product = a * high;
        const double next = sum[j] + product, tail = next - sum[j];
        rest[j] += (sum[j] - (next - tail)) + (product - tail) +
                   (Compensated::product_error(a, high, product) + a * low);
        sum[j] = next;
        size[j] += std::fabs(product);
    }
}
// The compensated dot product with the entries of a sparse vector.
template <class T, class I>
SKPD_CLONES Compensated sparse_dot_compensated(const T* x, const I* indices, const double* high, const double* low,
                                               std::size_t n) {
    Compensated even, odd;  // two chains, so that additions overlap
    std::size_t p = 0;
    for (; p + 1 < n; p += 2) {
        const double a = static_cast<double>(x[p]), b = static_cast<double>(x[p + 1]);
        even.add_product(a, high[indices[p]]);
        even.low += a * low[indices[p]];
        odd.add_product(b, high[indices[p + 1]]);
        odd.low += b * low[indices[p + 1]];
    }
    if (p < n) {
        const double a = static_cast<double>(x[p]);
        even.add_product(a, high[indices[p]]);
        even.low += a * low[indices[p]];
    }
    even.add(odd);
    return even;
}
template <class T, class I>
SKPD_CLONES void sparse_axpy_compensated(double high, double low, const T* x, const I* indices, double* sum,
                                         double* rest, double* size, std::size_t n) {
    for (std::size_t p = 0; p < n; ++p) {
        const auto j = indices[p];
        Compensated out{sum[j], rest[j], size[j]};
        out.add_product(static_cast<double>(x[p]), high);
        out.low += static_cast<double>(x[p]) * low;
        sum[j] = out.high;
        rest[j] = out.low;
        size[j] = out.size;
    }
}

}  // namespace skpd
