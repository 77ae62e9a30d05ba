// The two products of a matrix with a vector in twice the working precision: out += X (high + low).
// The vector is a pair as well, so that the rounding of a product of two vectors is not lost.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

// Entries of a product as unevaluated sums high + low, beside the sums of the magnitudes of their terms
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

template <class M>
void scatter_compensated(const M& matrix, const CompensatedVector& v, Doubled out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k)
        if (v.high[k] != 0.0) matrix.axpy_compensated(k, v.high[k], v.low[k], out.high, out.low, out.size);
}

}  // namespace skpd
