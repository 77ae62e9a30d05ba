// A penalised quadratic of moderate size: coordinate descent finds the support, Newton steps
// the values on it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "methods/quadratic.hpp"

namespace skpd {

// An upper triangular matrix of n rows, without what lies below its diagonal: a whole one of a few hundred rows
// would leave the cache. There is room for more.
struct Triangle {
    std::size_t n = 0, capacity = 0;
    std::vector<double> entries{};

    void resize(std::size_t rows, std::size_t new_capacity) {
        n = rows;
        capacity = new_capacity;
        entries.resize(capacity * (capacity + 1) / 2);
    }
    // The address of column 0 of a row: row(j)[c] is entry (j, c), for c >= j.
    double* row(std::size_t j) { return entries.data() + j * capacity - j * (j + 1) / 2; }
    const double* row(std::size_t j) const { return entries.data() + j * capacity - j * (j + 1) / 2; }
};

constexpr double min_pivot = 1e-13;  // of a diagonal entry, that is left of it

// Overwrites the upper triangle of A by its factor U, U'U = A. Returns whether A is positive definite, far enough
// for its rounding. Eight pivots at a time share a pass over what is left.
SKPD_CLONES inline bool factorise(Triangle& A) {
    constexpr std::size_t block = 8;
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
            if (!(row[j] > min_pivot * diagonal[j])) return false;
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
// Forward substitution for several vectors, stored one after the other: U is read once for all of them.
template <std::size_t width>
SKPD_CLONES void solve_forward(const Triangle& U, double* x) {
    std::array<double*, width> columns;
    for (std::size_t b = 0; b < width; ++b) columns[b] = x + b * U.n;
    for (std::size_t j = 0; j < U.n; ++j) {
        const double* row = U.row(j);
        double y[width];
        for (std::size_t b = 0; b < width; ++b) y[b] = columns[b][j] /= row[j];
        for (std::size_t b = 0; b < width; ++b) {
            double* out = columns[b];
#pragma omp simd
            for (std::size_t c = j + 1; c < U.n; ++c) out[c] -= y[b] * row[c];
        }
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

// Systems of one matrix, H and the penalty's second derivatives, on one support after another: with H = U'U on a
// first support, those who join it are new columns of U, and those who left stay at 0 where U'^-1 b is projected off the
// span of their U'^-1 e_j. A column that joins is projected as well: it need not meet those who left.
class SupportSystem {
   public:
    // Numbers of the first coordinates of the H to come, the same for the same coordinate; -1 for the others
    void name(const std::int64_t* names, std::size_t n_named, std::size_t n) {
        names_.assign(names, names + n_named);
        names_.resize(n, -1);
        place_.assign(n, none);
        for (std::size_t j = 0; j < n; ++j)
            if (const auto entry = place_of_name_.find(names_[j]); entry != place_of_name_.end()) {
                place_[j] = entry->second;
                coordinate_[entry->second] = j;
            }
    }

    // Returns whether the matrix on this support is at hand, or positive definite.
    bool take(const GramQuadratic& model, const SeparableCoordinates& penalty, const std::vector<std::size_t>& support) {
        const double* H = model.H;
        const std::size_t n = model.n, k = support.size();
        const auto diagonal = [&](std::size_t j) {
            return (model.curvature(j) + (j < penalty.n_penalised() ? penalty[j].l2 : 0.0)) * (1.0 + 1e-14);
        };
        if (penalty.max_l2() == max_l2_ && update(H, n, diagonal, support)) return true;
        forget();
        max_l2_ = penalty.max_l2();
        factor_.resize(k, k + k / share);
        for (std::size_t a = 0; a < k; ++a) {
            const double* from = H + support[a] * n;
            double* row = factor_.row(a);
            for (std::size_t b = a; b < k; ++b) row[b] = from[support[b]];
            row[a] = diagonal(support[a]);
            add_coordinate(support[a]);
        }
        if (factorise(factor_)) return true;
        forget();
        return false;
    }

    // step <- the solution on the support, of a right-hand side there
    void solve(const std::vector<std::size_t>& support, std::vector<double>& step) const {
        std::vector<double> x(factor_.n, 0.0);
        for (std::size_t b = 0; b < support.size(); ++b) x[place_[support[b]]] = step[b];
        solve_forward(factor_, 0, x.data());
        for (const auto& v : removed_) project_off(v, x.data());
        solve_backward(factor_, x.data());
        for (std::size_t b = 0; b < support.size(); ++b) step[b] = x[place_[support[b]]];
    }

   private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t share = 8;  // of the support, that may have left or joined until a new factor costs less

    void add_coordinate(std::size_t j) {
        place_[j] = is_active_.size();
        place_of_name_[names_[j]] = is_active_.size();
        coordinate_.push_back(j);
        is_active_.push_back(true);
    }
    void forget() {
        std::fill(place_.begin(), place_.end(), none);
        place_of_name_.clear();
        coordinate_.clear();
        is_active_.clear();
        removed_.clear();
        factor_.n = 0;
    }

    template <class Diagonal>
    bool update(const double* H, std::size_t n, Diagonal diagonal, const std::vector<std::size_t>& support) {
        const std::size_t k = is_active_.size();
        std::vector<std::uint8_t> stays(k, false);
        std::vector<std::size_t> joining;
        for (const std::size_t j : support) {
            const std::size_t a = place_[j];
            if (a != none && is_active_[a]) stays[a] = true;
            else joining.push_back(j);
        }
        std::size_t changes = removed_.size() + joining.size();
        for (std::size_t a = 0; a < k; ++a) changes += is_active_[a] && !stays[a];
        if (k == 0 || share * changes > k || k + joining.size() > factor_.capacity) return false;
        for (std::size_t a = 0; a < k; ++a)
            if (is_active_[a] && !stays[a] && !remove(a)) return false;
        return join(H, n, diagonal, joining);
    }

    bool remove(std::size_t a) {
        std::vector<double> v(factor_.n, 0.0);
        v[a] = 1.0;
        solve_forward(factor_, a, v.data());
        const double before = dense_dot(v.data(), v.data(), v.size());
        for (int repetition = 0; repetition < 2; ++repetition)
            for (const auto& other : removed_) project_off(other, v.data());
        const double square = dense_dot(v.data(), v.data(), v.size());
        if (!(square > 1e-20 * before)) return false;
        for (double& entry : v) entry /= std::sqrt(square);
        removed_.push_back(std::move(v));
        is_active_[a] = false;
        return true;
    }

    template <class Diagonal>
    bool join(const double* H, std::size_t n, Diagonal diagonal, const std::vector<std::size_t>& joining) {
        const std::size_t k = factor_.n, n_new = joining.size();
        std::vector<double> columns(n_new * k, 0.0);
        for (std::size_t b = 0; b < n_new; ++b)
            for (std::size_t a = 0; a < k; ++a)
                if (is_active_[a]) columns[b * k + a] = H[joining[b] * n + coordinate_[a]];
        std::size_t b = 0;
        for (; b + together <= n_new; b += together) solve_forward<together>(factor_, columns.data() + b * k);
        for (; b < n_new; ++b) solve_forward(factor_, 0, columns.data() + b * k);
        std::vector<std::vector<double>> joined;
        for (b = 0; b < n_new; ++b) {
            const double* first = columns.data() + b * k;
            std::vector<double> u(first, first + k);
            for (int repetition = 0; repetition < 2; ++repetition)
                for (const auto& v : removed_) project_off(v, u.data());
            for (std::size_t a = 0; a < b; ++a) {
                const double rest = H[joining[b] * n + joining[a]] - dense_dot(joined[a].data(), u.data(), k + a);
                u.push_back(rest / factor_.row(k + a)[k + a]);
            }
            const double d = diagonal(joining[b]), square = d - dense_dot(u.data(), u.data(), u.size());
            if (!(square > min_pivot * d)) return false;
            for (std::size_t a = 0; a < u.size(); ++a) factor_.row(a)[k + b] = u[a];
            factor_.row(k + b)[k + b] = std::sqrt(square);
            joined.push_back(std::move(u));
            add_coordinate(joining[b]);
        }
        factor_.n += n_new;
        for (auto& v : removed_) v.resize(factor_.n, 0.0);
        return true;
    }

    static void project_off(const std::vector<double>& unit, double* x) {
        dense_axpy(-dense_dot(unit.data(), x, unit.size()), unit.data(), x, unit.size());
    }

    double max_l2_ = 0.0;  // of the terms that the factor was computed for
    Triangle factor_;
    std::vector<std::uint8_t> is_active_;                            // by their places in the factor
    std::vector<std::size_t> coordinate_;                       // of H, for those here
    std::vector<std::vector<double>> removed_;                     // orthonormal
    std::vector<std::int64_t> names_;                           // of the coordinates of H
    std::vector<std::size_t> place_;                            // theirs in the factor
    std::unordered_map<std::int64_t, std::size_t> place_of_name_;
};

// A Newton step on the coordinates off their kinks. Returns the share of it that was taken.
inline double newton_step(GramQuadratic& model, const SeparableCoordinates& penalty, SupportSystem& system) {
    std::vector<std::size_t> support = penalty.support(model.p, model.n);
    std::erase_if(support, [&](std::size_t j) { return !(model.curvature(j) > 0.0); });
    if (support.empty() || !system.take(model, penalty, support)) return 0.0;
    std::vector<double> step = penalty.derivatives(support, model.p).first;
    for (std::size_t b = 0; b < support.size(); ++b) step[b] = -model.r[support[b]] - step[b];
    system.solve(support, step);
    return step_along(model, penalty, support, step);
}

// Coordinate descent and Newton steps in turns until the former moves no gradient by more than
// tol, or the given number of rounds. A step that ends at a kink is followed by another at once:
// of a matrix near singular the last of them leave one by one.
inline void minimise_separable(GramQuadratic model, const SeparableCoordinates& penalty, int sweeps, double tol,
                               int rounds, SupportSystem& system) {
    constexpr int max_steps = 30;
    for (int round = 0; round < rounds; ++round) {
        if (model.descend(penalty, sweeps, tol) <= tol) return;
        for (int k = 0; k < max_steps; ++k) {
            const double length = newton_step(model, penalty, system);
            if (length == 1.0 || length == 0.0) break;
        }
    }
}

}  // namespace skpd
