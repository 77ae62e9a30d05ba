// Loops over a vector v and over the moves that it has made, for the subspace of dual descent.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "data/compensated.hpp"

namespace skpd {

// Products of v and of three moves: v.v, the moves with v, and with each other.
struct MoveProducts {
    double square, with_v[3], among[3][3];
};
SKPD_CLONES inline MoveProducts move_products(const double* v, const double* p, const double* q, const double* r,
                                              std::size_t n) {
    double vv = 0.0, pv = 0.0, qv = 0.0, rv = 0.0, pp = 0.0, qp = 0.0, qq = 0.0, rp = 0.0, rq = 0.0, rr = 0.0;
#pragma omp simd reduction(+ : vv, pv, qv, rv, pp, qp, qq, rp, rq, rr)
    for (std::size_t j = 0; j < n; ++j) {
        vv += v[j] * v[j];
        pv += p[j] * v[j];
        qv += q[j] * v[j];
        rv += r[j] * v[j];
        pp += p[j] * p[j];
        qp += q[j] * p[j];
        qq += q[j] * q[j];
        rp += r[j] * p[j];
        rq += r[j] * q[j];
        rr += r[j] * r[j];
    }
    return {vv, {pv, qv, rv}, {{pp, qp, rp}, {qp, qq, rq}, {rp, rq, rr}}};
}
SKPD_CLONES inline void combine(const std::array<double, 3>& x, const double* p, const double* q, const double* r,
                                double* out, std::size_t n) {
    const double a = x[0], b = x[1], c = x[2];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] = a * p[j] + b * q[j] + c * r[j];
}
// d.v and d.d
SKPD_CLONES inline std::pair<double, double> dot_and_square(const double* d, const double* v, std::size_t n) {
    double dot = 0.0, square = 0.0;
#pragma omp simd reduction(+ : dot, square)
    for (std::size_t j = 0; j < n; ++j) {
        dot += d[j] * v[j];
        square += d[j] * d[j];
    }
    return {dot, square};
}
SKPD_CLONES inline void dense_axpy_twice(double a, const double* d, double* v, double* w, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double change = a * d[j];
        v[j] += change;
        w[j] += change;
    }
}

}  // namespace skpd
