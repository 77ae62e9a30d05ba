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

// An upper triangular matrix of n rows, without what lies below its diagonal: a whole one of a few hundred rows
// would leave the cache.
struct Triangle {
    std::size_t n = 0;
    std::vector<double> entries{};

    void resize(std::size_t rows) {
        n = rows;
        entries.resize(n * (n + 1) / 2);
    }
    // Where column 0 of a row would lie: row(j)[c] is entry (j, c), for c >= j.
    double* row(std::size_t j) { return entries.data() + j * n - j * (j + 1) / 2; }
    const double* row(std::size_t j) const { return entries.data() + j * n - j * (j + 1) / 2; }
};

// Overwrites the upper triangle of A by its factor U, U'U = A. Returns whether A is positive definite, far enough
// for its rounding. Eight pivots at a time share a pass over what is left.
SKPD_CLONES inline bool factorise(Triangle& A) {
    constexpr std::size_t block = 8;
    constexpr double least = 1e-13;  // of a diagonal entry that is left as a pivot
    const std::size_t n = A.n;
    std::vector<double> diagonal(n);
    for (std::size_t j = 0; j < n; ++j) diagonal[j] = A.row(j)[j];
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t last = std::min(first + block, n);
        for (std::size_t j = first; j < last; ++j) {
            double* row = A.row(j);
            for (std::size_t k = first; k < j; ++k) {
                const double* pivot = A.row(k);
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
        const double* p[block];
        for (std::size_t b = 0; b < block; ++b) p[b] = A.row(first + b);
        for (std::size_t i = last; i < n; ++i) {
            double* row = A.row(i);
            double u[block];
            for (std::size_t b = 0; b < block; ++b) u[b] = p[b][i];
#pragma omp simd
            for (std::size_t k = i; k < n; ++k)
                row[k] -= ((u[0] * p[0][k] + u[1] * p[1][k]) + (u[2] * p[2][k] + u[3] * p[3][k])) +
                          ((u[4] * p[4][k] + u[5] * p[5][k]) + (u[6] * p[6][k] + u[7] * p[7][k]));
        }
    }
    return true;
}
// x <- U'^-1 x, whose first entries are 0
SKPD_CLONES inline void solve_forward(const Triangle& U, std::size_t first, double* x) {
    for (std::size_t j = first; j < U.n; ++j) {
        const double* row = U.row(j);
        const double y = x[j] /= row[j];
#pragma omp simd
        for (std::size_t c = j + 1; c < U.n; ++c) x[c] -= y * row[c];
    }
}
// x <- U^-1 x
SKPD_CLONES inline void solve_backward(const Triangle& U, double* x) {
    for (std::size_t j = U.n; j-- > 0;) {
        const double* row = U.row(j);
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = j + 1; c < U.n; ++c) sum += row[c] * x[c];
        x[j] = (x[j] - sum) / row[j];
    }
}

// Systems of a matrix, H and the penalty's second derivatives, on supports that shrink: with H = U'U on the first of
// them, those who left stay at 0 where U'^-1 b is projected off the span of their U'^-1 e_j.
class SupportSystem {
   public:
    // Returns whether the matrix on this support is at hand, or positive definite.
    bool take(const double* H, std::size_t n, std::size_t n_penalised, double l2,
              const std::vector<std::int64_t>& support) {
        if (shrink_to(support)) return true;
        first_ = support;
        here_.assign(support.size(), true);
        left_.clear();
        const std::size_t k = support.size();
        factor_.resize(k);
        for (std::size_t a = 0; a < k; ++a) {
            const auto j = static_cast<std::size_t>(support[a]);
            const double* from = H + j * n;
            double* row = factor_.row(a);
            for (std::size_t b = a; b < k; ++b) row[b] = from[support[b]];
            if (j < n_penalised) row[a] += l2;
            row[a] *= 1.0 + 1e-14;
        }
        if (factorise(factor_)) return true;
        first_.clear();
        return false;
    }

    const std::vector<std::int64_t>& first() const { return first_; }
    bool here(std::size_t a) const { return here_[a]; }

    // x <- the solution, on the first support; x is 0 for those who left
    void solve(double* x) const {
        solve_forward(factor_, 0, x);
        for (const auto& v : left_) project_off(v, x);
        solve_backward(factor_, x);
        for (std::size_t a = 0; a < first_.size(); ++a)
            if (!here_[a]) x[a] = 0.0;  // without its rounding
    }

   private:
    bool shrink_to(const std::vector<std::int64_t>& support) {
        const std::size_t k = first_.size();
        if (support.size() > k || 10 * (k - support.size()) > k) return false;
        std::vector<std::size_t> leaving;
        std::size_t next = 0;
        for (std::size_t a = 0; a < k; ++a) {
            const bool stays = next < support.size() && support[next] == first_[a];
            if (stays && !here_[a]) return false;  // it has come back
            if (stays) ++next;
            else if (here_[a]) leaving.push_back(a);
        }
        if (next < support.size()) return false;
        for (const std::size_t a : leaving) {
            std::vector<double> v(k, 0.0);
            v[a] = 1.0;
            solve_forward(factor_, a, v.data());
            const double before = dense_dot(v.data(), v.data(), k);
            for (int twice = 0; twice < 2; ++twice)
                for (const auto& other : left_) project_off(other, v.data());
            const double square = dense_dot(v.data(), v.data(), k);
            if (!(square > 1e-20 * before)) return false;
            for (double& entry : v) entry /= std::sqrt(square);
            left_.push_back(std::move(v));
            here_[a] = false;
        }
        return true;
    }

    static void project_off(const std::vector<double>& unit, double* x) {
        dense_axpy(-dense_dot(unit.data(), x, unit.size()), unit.data(), x, unit.size());
    }

    std::vector<std::int64_t> first_;
    std::vector<std::uint8_t> here_;
    Triangle factor_;
    std::vector<std::vector<double>> left_;  // orthonormal
};

// A Newton step on the coordinates off their kinks. Returns the share of it that was taken.
inline double newton_step(const double* H, std::size_t n, std::size_t n_penalised, const SeparablePenalty& penalty,
                          double* p, double* r, SupportSystem& system) {
    std::vector<std::int64_t> support;
    for (std::size_t j = 0; j < n; ++j) {
        const bool smooth = j >= n_penalised || (p[j] > penalty.lower && p[j] < penalty.upper &&
                                                 (p[j] != 0.0 || penalty.l1 == 0.0));
        if (smooth && H[j * n + j] > 0.0) support.push_back(static_cast<std::int64_t>(j));
    }
    if (support.empty() || !system.take(H, n, n_penalised, penalty.l2, support)) return 0.0;
    const auto& first = system.first();
    std::vector<double> step(first.size(), 0.0);
    for (std::size_t a = 0; a < first.size(); ++a) {
        if (!system.here(a)) continue;
        const auto j = static_cast<std::size_t>(first[a]);
        step[a] = -r[j];
        if (j >= n_penalised) continue;
        if (p[j] != 0.0) step[a] -= std::copysign(penalty.l1, p[j]);
        step[a] -= penalty.l2 * p[j];
    }
    system.solve(step.data());
    return step_on_support(H, n, n_penalised, penalty, first.data(), first.size(), step.data(), p, r);
}

// Coordinate descent and Newton steps in turns until the former moves no gradient by more than
// tol, or the given number of rounds. A step that ends at a kink is followed by another at once:
// of a matrix near singular the last of them leave one by one.
inline void minimise_separable(const double* H, std::size_t n, std::size_t n_penalised, const SeparablePenalty& penalty,
                               double* p, double* r, int sweeps, double tol, int rounds) {
    constexpr int most_steps = 30;
    SupportSystem system;
    for (int round = 0; round < rounds; ++round) {
        if (coordinate_descent(H, n, n_penalised, penalty, p, r, sweeps, tol) <= tol) return;
        for (int k = 0; k < most_steps; ++k) {
            const double length = newton_step(H, n, n_penalised, penalty, p, r, system);
            if (length == 1.0 || length == 0.0) break;
        }
    }
}

}  // namespace skpd
