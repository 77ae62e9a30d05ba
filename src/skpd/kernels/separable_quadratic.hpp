// A penalised quadratic of moderate size: coordinate descent finds the support, Newton steps
// the values on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quadratic.hpp"

namespace skpd {

// Overwrites x by the solution of A x = b, b in x, with the upper triangle of A by its factor U, U'U = A.
// Returns whether A is positive definite, far enough for its rounding. Four pivots at a time share a pass over what is left.
SKPD_CLONES inline bool solve_positive_definite(double* A, std::size_t n, double* x) {
    constexpr std::size_t block = 4;
    constexpr double least = 1e-13;  // of a diagonal entry that is left as a pivot
    std::vector<double> diagonal(n);
    for (std::size_t j = 0; j < n; ++j) diagonal[j] = A[j * n + j];
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t last = std::min(first + block, n);
        for (std::size_t j = first; j < last; ++j) {
            double* row = A + j * n;
            for (std::size_t k = first; k < j; ++k) {
                const double* pivot = A + k * n;
                const double u = pivot[j];
#pragma omp simd
                for (std::size_t c = j; c < n; ++c) row[c] -= u * pivot[c];
            }
            if (!(row[j] > least * diagonal[j])) return false;
            const double inverse = 1.0 / std::sqrt(row[j]);
#pragma omp simd
            for (std::size_t c = j; c < n; ++c) row[c] *= inverse;
        }
        if (last - first < block) break;
        const double *p = A + first * n, *q = p + n, *r = q + n, *s = r + n;
        for (std::size_t i = last; i < n; ++i) {
            double* row = A + i * n;
            const double a = p[i], b = q[i], c = r[i], d = s[i];
#pragma omp simd
            for (std::size_t k = i; k < n; ++k) row[k] -= (a * p[k] + b * q[k]) + (c * r[k] + d * s[k]);
        }
    }
    for (std::size_t j = 0; j < n; ++j) {
        const double* row = A + j * n;
        const double y = x[j] /= row[j];
#pragma omp simd
        for (std::size_t c = j + 1; c < n; ++c) x[c] -= y * row[c];
    }
    for (std::size_t j = n; j-- > 0;) {
        const double* row = A + j * n;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = j + 1; c < n; ++c) sum += row[c] * x[c];
        x[j] = (x[j] - sum) / row[j];
    }
    return true;
}

// Coordinate descent and Newton steps in turns until the former moves no gradient by more than
// tol, or the given number of rounds.
inline void minimise_separable(const double* H, std::size_t n, std::size_t n_penalised, const SeparablePenalty& penalty,
                               double* p, double* r, int sweeps, double tol, int rounds) {
    std::vector<std::int64_t> support;
    std::vector<double> system, step;
    for (int round = 0; round < rounds; ++round) {
        if (coordinate_descent(H, n, n_penalised, penalty, p, r, sweeps, tol) <= tol) return;
        support.clear();
        for (std::size_t j = 0; j < n; ++j) {
            const bool smooth = j >= n_penalised || (p[j] > penalty.lower && p[j] < penalty.upper &&
                                                     (p[j] != 0.0 || penalty.l1 == 0.0));
            if (smooth && H[j * n + j] > 0.0) support.push_back(static_cast<std::int64_t>(j));
        }
        const std::size_t k = support.size();
        if (k == 0) continue;
        system.resize(k * k);
        step.resize(k);
        for (std::size_t a = 0; a < k; ++a) {
            const auto j = static_cast<std::size_t>(support[a]);
            const double* row = H + j * n;
            for (std::size_t b = a; b < k; ++b) system[a * k + b] = row[support[b]];
            double& diagonal = system[a * k + a];
            step[a] = -r[j];
            if (j < n_penalised) {
                if (p[j] != 0.0) step[a] -= std::copysign(penalty.l1, p[j]);
                step[a] -= penalty.l2 * p[j];
                diagonal += penalty.l2;
            }
            diagonal *= 1.0 + 1e-14;
        }
        if (solve_positive_definite(system.data(), k, step.data()))
            step_on_support(H, n, n_penalised, penalty, support.data(), k, step.data(), p, r);
    }
}

}  // namespace skpd
