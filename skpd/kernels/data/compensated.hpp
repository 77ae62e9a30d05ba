// Sums in several chains; sums and products as unevaluated pairs high + low of doubles (Dekker, 1971; Ogita, Rump and
// Oishi, 2005). A sum of n terms is as accurate as if it were computed in twice the working precision and rounded once,
// and has a bound on the error that remains.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "data/instructions.hpp"

namespace skpd {

constexpr double unit_roundoff = 1.1102230246251565e-16;  // 2^-53

// Calls take(sum, p) for each p from the first up to the end, with several sums in turn, so that additions overlap.
template <class Sum, std::size_t n_chains, class Place, class Take>
SKPD_INLINE std::array<Sum, n_chains> interleaved_sums(Place first, Place end, Take take) {
    constexpr auto n = static_cast<Place>(n_chains);
    std::array<Sum, n_chains> sums{};
    Place p = first;
    for (; end - p >= n; p += n)
        for (Place q = 0; q < n; ++q) take(sums[q], p + q);
    for (; p < end; ++p) take(sums[0], p);
    return sums;
}

// The sum is high + low, which is left unevaluated.
struct Compensated {
    double high = 0.0;
    double low = 0.0;
    double size = 0.0;  // the sum of the magnitudes of the terms

    void add(double x) {
        const double sum = high + x;
        const double tail = sum - high;
        low += (high - (sum - tail)) + (x - tail);
        high = sum;
        size += std::fabs(x);
    }

    // Adds a b, with the rounding error of the product.
    void add_product(double a, double b) {
        const double product = a * b;
        add(product);
        low += product_error(a, b, product);
    }

    // Adds another sum, whose terms are counted with those of this one.
    void add(const Compensated& other) {
        const double before = size;
        add(other.high);
        low += other.low;
        size = before + other.size;
    }

    // a b - product, where product is a * b rounded (Dekker, 1971)
    static double product_error(double a, double b, double product) {
#ifdef SKPD_HAS_FMA
        return std::fma(a, b, -product);
#else
        constexpr double splitter = 134217729.0;  // 2^27 + 1, Veltkamp's splitting
        const double ta = splitter * a, tb = splitter * b;
        const double a1 = ta - (ta - a), a2 = a - a1;
        const double b1 = tb - (tb - b), b2 = b - b1;
        return a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
#endif
    }
};

// high_i + low_i = a_i b_i for vectors of n entries
SKPD_CLONES inline void exact_products(const double* a, const double* b, double* high, double* low, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        high[i] = a[i] * b[i];
        low[i] = Compensated::product_error(a[i], b[i], high[i]);
    }
}

// The sum rounded to high + low with |low| at most half a unit in the last place of high, and a bound on its error.
struct Rounded {
    double high, low, error;

    Rounded(const Compensated& sum, std::size_t n_terms) {
        const double n = static_cast<double>(n_terms) + 4.0;
        // Each product may lose a few units of the smallest double to underflow.
        const double underflow = 64.0 * n * std::numeric_limits<double>::denorm_min();
        high = sum.high + sum.low;
        low = sum.low - (high - sum.high);
        // This is Proposition 5.5 of Ogita, Rump and Oishi, enlarged for the third factor.
        error = 4.0 * (n * unit_roundoff) * (n * unit_roundoff) * sum.size + underflow;
        if (!std::isfinite(high) || !std::isfinite(low)) {
            // A splitting has overflowed, which leaves the plain sum.
            high = sum.high;
            low = 0.0;
            error = 2.0 * n * unit_roundoff * sum.size + underflow;
        }
    }
};


// sum + low_sum += a (high + low), and size += |a high|
SKPD_INLINE void add_compensated(double a, double high, double low, double& sum, double& low_sum, double& size) {
    const double product = a * high, next = sum + product, tail = next - sum;
    low_sum += (sum - (next - tail)) + (product - tail) + (Compensated::product_error(a, high, product) + a * low);
    sum = next;
    size += std::fabs(product);
}

// sum_j x_j (high_j + low_j) in twice the working precision; x, high and low (n). Its lanes fill one vector of a
// processor.
template <class T>
SKPD_CLONES Compensated dense_dot_compensated(const T* x, const double* high, const double* low, std::size_t n) {
    constexpr std::size_t lanes = 8;
    double sum[lanes] = {}, low_sum[lanes] = {}, size[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            const double a = static_cast<double>(x[j + k]), product = a * high[j + k];
            const double next = sum[k] + product, tail = next - sum[k];
            low_sum[k] += (sum[k] - (next - tail)) + (product - tail) +
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
    for (std::size_t k = 0; k < lanes; ++k) total.add(Compensated{sum[k], low_sum[k], size[k]});
    return total;
}
// out_j += x_j (high + low) with out = sum + low_sum; x, sum, low_sum and size (n)
template <class T>
SKPD_CLONES void dense_axpy_compensated(double high, double low, const T* x, double* sum, double* low_sum, double* size,
                                        std::size_t n) {
    for (std::size_t j = 0; j < n; ++j)
        add_compensated(static_cast<double>(x[j]), high, low, sum[j], low_sum[j], size[j]);
}

}  // namespace skpd
