// Coordinate descent and Newton steps on a penalised quadratic of moderate size,
//
//   minimise over p (n)    g'(p - p_0) + (p - p_0)' H (p - p_0) / 2 + R(p),    H (n, n),
//
// for a sum R over coordinates or groups, with the gradient r = g + H (p - p_0) (n) kept up to date. Coordinate descent
// finds the support, and Newton steps the values on it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "data/dense_vectors.hpp"
#include "methods/coordinate_sweeps.hpp"

namespace skpd {

// This is the quadratic at p with its gradient r; H (n, n) is symmetric, p and r (n).
struct GramQuadratic {
    const double* H;
    std::size_t n;
    double *p, *r;

    double curvature(std::size_t j) const { return H[j * n + j]; }
    double gradient(std::size_t j) const { return r[j]; }
    // r += change H_j, the gradient after a change of p_j
    void shift(std::size_t j, double change) { dense_axpy(change, H + j * n, r, n); }
    Block block(std::size_t, std::size_t first, std::size_t size) const {
        const double* entries = H + first * n + first;
        return {entries, n, row_sum_norm(entries, n, size)};
    }

    // Sweeps over the coordinates until no gradient changes by more than tol, no coordinate reaches or leaves its kink,
    // or the given number of sweeps is reached. If a Newton step needs a new factor, sweeps go on while those that are
    // left at their last rate would take less time. Returns the largest change of a gradient in the last sweep.
    template <class R>
    double descend(const R& penalty, int sweeps, double tol, bool has_factor) {
        Sweep last;
        for (int k = 0; k < sweeps; ++k) {
            const double before = last.largest, n_moved = static_cast<double>(last.n_moved);
            last = sweep(*this, penalty);
            if (last.largest <= tol) break;
            const double n_left = std::log(tol / last.largest) / std::log(last.largest / before);
            const bool is_faster = last.largest < before && n_left * n * factor_work < n_moved * n_moved;
            if (last.settled && (has_factor || !is_faster)) break;
        }
        return last.largest;
    }
    // A factor of m coordinates takes the time of m^2 / (factor_work n) sweeps over them.
    static constexpr double factor_work = 12.0;

    std::size_t n_responses() const { return n; }
    // response += H change on the support, the change of the gradient; returns the change of the quadratic.
    double respond(const std::vector<std::size_t>& support, const std::vector<double>& change,
                   std::vector<double>& response) const {
        double gain = 0.0;
        for (std::size_t a = 0; a < support.size(); ++a) {
            gain += change[a] * r[support[a]];
            if (change[a] != 0.0) dense_axpy(change[a], H + support[a] * n, response.data(), n);
        }
        for (std::size_t a = 0; a < support.size(); ++a) gain += 0.5 * change[a] * response[support[a]];
        return gain;
    }
    void take(const std::vector<double>& response) {
        for (std::size_t j = 0; j < n; ++j) r[j] += response[j];
    }
};

// An upper triangular matrix (n, n) in packed rows, with space for `capacity` rows. The entries below the diagonal are
// not stored, since a square matrix of a few hundred rows would not fit in the cache.
struct Triangle {
    std::size_t n = 0, capacity = 0;
    std::vector<double> entries{};

    void resize(std::size_t rows, std::size_t new_capacity) {
        n = rows;
        capacity = new_capacity;
        entries.resize(capacity * (capacity + 1) / 2);
    }
    // The address of column 0 of row j: row(j)[c] is entry (j, c), for c >= j.
    double* row(std::size_t j) { return entries.data() + j * capacity - j * (j + 1) / 2; }
    const double* row(std::size_t j) const { return entries.data() + j * capacity - j * (j + 1) / 2; }
};

constexpr double min_pivot = 1e-13;  // the least pivot, as a share of the diagonal entry

// A <- its Cholesky factor U with U'U = A. Returns whether A is positive definite beyond its rounding errors. Eight
// pivots share a pass over the remaining rows.
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
// x <- U'^-1 x, where the entries of x (n) before `first` are 0
SKPD_CLONES inline void solve_forward(const Triangle& U, std::size_t first, double* x) {
    for (std::size_t j = first; j < U.n; ++j) {
        const double* row = U.row(j);
        const double y = x[j] /= row[j];
#pragma omp simd
        for (std::size_t c = j + 1; c < U.n; ++c) x[c] -= y * row[c];
    }
}
// x_b <- U'^-1 x_b for b < width vectors x_b (n), stored one after the other: U is read once for all of them.
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
// x <- U^-1 x; x (n)
SKPD_CLONES inline void solve_backward(const Triangle& U, double* x) {
    for (std::size_t j = U.n; j-- > 0;) {
        const double* row = U.row(j);
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = j + 1; c < U.n; ++c) sum += row[c] * x[c];
        x[j] = (x[j] - sum) / row[j];
    }
}

// The systems (H + D)_SS x = b on a sequence of supports S, with D the second derivatives of the penalty.
//
// The factor U'U = (H + D)_SS of a first support is updated. A coordinate that joins the support is a new column of U.
// A coordinate j that leaves it stays in U, and its unknown is kept at 0 by projecting U'^-1 b off the vector U'^-1
// e_j. A column that joins is projected as well, since it does not depend on the coordinates that have left.
class SupportSystem {
   public:
    // Sets the names of the first coordinates of the next H (n, n): equal names denote equal coordinates in all H, and
    // the other coordinates have the name -1.
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

    // Prepares the system on this support; returns false if its matrix is not positive definite.
    bool take(const GramQuadratic& model, const SeparableCoordinates& penalty,
              const std::vector<std::size_t>& support) {
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

    // step <- x with (H + D)_SS x = step, on the support S; step (k)
    void solve(const std::vector<std::size_t>& support, std::vector<double>& step) const {
        std::vector<double> x(factor_.n, 0.0);
        for (std::size_t b = 0; b < support.size(); ++b) x[place_[support[b]]] = step[b];
        solve_forward(factor_, 0, x.data());
        for (const auto& v : removed_) project_off(v, x.data());
        solve_backward(factor_, x.data());
        for (std::size_t b = 0; b < support.size(); ++b) step[b] = x[place_[support[b]]];
    }

    bool has_factor(const SeparableCoordinates& penalty) const {
        return factor_.n > 0 && penalty.max_l2() == max_l2_;
    }

   private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    // If more than 1/8 of the support has left or joined, a new factor costs less.
    static constexpr std::size_t share = 8;

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

    // Updates the factor to this support; returns false if a new factor costs less or the update fails.
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

    // Adds U'^-1 e_a to the orthonormal vectors of the removed coordinates; returns false if it depends on them.
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

    // Adds columns to U; returns false if the matrix is not positive definite.
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
                const double remainder = H[joining[b] * n + joining[a]] - dense_dot(joined[a].data(), u.data(), k + a);
                u.push_back(remainder / factor_.row(k + a)[k + a]);
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

    // x <- x - (unit . x) unit
    static void project_off(const std::vector<double>& unit, double* x) {
        dense_axpy(-dense_dot(unit.data(), x, unit.size()), unit.data(), x, unit.size());
    }

    double max_l2_ = 0.0;  // the largest l2 of the terms that the factor was computed for
    Triangle factor_;
    std::vector<std::uint8_t> is_active_;  // whether the coordinate at this place of the factor is in the support
    std::vector<std::size_t> coordinate_;  // the coordinate of H at this place of the factor
    std::vector<std::vector<double>> removed_;  // the orthonormal vectors to project off
    std::vector<std::int64_t> names_;  // the names of the coordinates of H
    std::vector<std::size_t> place_;  // the places of the coordinates of H in the factor
    std::unordered_map<std::int64_t, std::size_t> place_of_name_;
};

// Takes a Newton step on the coordinates that are not at a kink; returns the share of it that was taken.
inline double newton_step(GramQuadratic& model, const SeparableCoordinates& penalty, SupportSystem& system) {
    const std::vector<std::size_t> support = curved_support(model, penalty);
    if (support.empty() || !system.take(model, penalty, support)) return 0.0;
    std::vector<double> step = penalty.derivatives(support, model.p).first;
    for (std::size_t b = 0; b < support.size(); ++b) step[b] = -model.r[support[b]] - step[b];
    system.solve(support, step);
    return step_along(model, penalty, support, step);
}

// The same for groups, whose second derivatives change with p, so that every step has a new factor
inline double newton_step(GramQuadratic& model, const GroupedCoordinates& penalty) {
    const std::vector<std::size_t> support = curved_support(model, penalty);
    const std::size_t k = support.size();
    const Derivatives derivatives = penalty.derivatives(support, model.p);
    Triangle system;
    system.resize(k, k);
    std::vector<double> step(k);
    for (std::size_t a = 0; a < k; ++a) {
        const double* from = model.H + support[a] * model.n;
        double* row = system.row(a);
        for (std::size_t b = a; b < k; ++b) row[b] = from[support[b]];
        step[a] = -model.r[support[a]] - derivatives.first[a];
    }
    derivatives.add_to(system);
    for (std::size_t a = 0; a < k; ++a) system.row(a)[a] *= 1.0 + 1e-14;
    if (k == 0 || !factorise(system)) return 0.0;
    solve_forward(system, 0, step.data());
    solve_backward(system, step.data());
    return step_along(model, penalty, support, step);
}

// Alternates coordinate descent and Newton steps for the given number of rounds, of which the last has no steps.
// Returns the largest change of a gradient in the last sweep. A step that ends at a kink of a separable penalty is
// followed by others at once, since the coordinates of a nearly singular matrix reach their kinks one by one.
template <class R, class... System>
double alternate(GramQuadratic model, const R& penalty, int sweeps, double tol, int rounds, System&... system) {
    constexpr int most = std::is_same_v<R, SeparableCoordinates> ? 30 : 1;  // of the steps of a round
    double change = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) {
        change = model.descend(penalty, sweeps, tol, (system.has_factor(penalty) || ... || false));
        if (change <= tol) break;
        for (int k = 0; k < most && round + 1 < rounds; ++k) {
            const double length = newton_step(model, penalty, system...);
            if (length == 1.0 || length == 0.0) break;
        }
    }
    return change;
}

}  // namespace skpd
