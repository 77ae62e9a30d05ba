// Proximal Newton steps on a small table X (n, d), all of them in one call:
//
//   minimise over w (d) and b    sum_i weights_i l(y_i, x_i.w + b) + R(w),
//
// with a loss that has a curvature wherever it has a slope. The variables (m) are w, followed by b if there is one. A
// step minimises the penalised quadratic model at the variables, and a line search follows it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "data/gram.hpp"
#include "data/products.hpp"
#include "methods/penalised_quadratic.hpp"

namespace skpd {

// A table with a column of ones after its own if there is an intercept
struct TableWithOnes {
    const AnyLayout& layout;
    bool by_row;
    std::size_t n_rows, n_columns;
    bool ones;

    std::size_t n_variables() const { return n_columns + ones; }
    // z <- [X 1] v; v (m), z (n)
    void times(const double* v, double* z) const {
        std::fill_n(z, n_rows, 0.0);
        std::visit([&](const auto& x) { by_row ? gather<Identity>(x, v, z) : scatter<Identity>(x, v, z); }, layout);
        if (ones) for (std::size_t i = 0; i < n_rows; ++i) z[i] += v[n_columns];
    }
    // g <- [X 1]'u; u (n), g (m)
    void transposed(const double* u, double* g) const {
        std::fill_n(g, n_columns, 0.0);
        std::visit([&](const auto& x) { by_row ? scatter<Identity>(x, u, g) : gather<Identity>(x, u, g); }, layout);
        if (ones) g[n_columns] = std::accumulate(u, u + n_rows, 0.0);
    }
    // H <- [X_W 1]' diag(h) [X_W 1] over the columns W; h (n), H (|W| + ones, |W| + ones)
    void gram(const double* h, const std::vector<std::int64_t>& columns, double* H) const {
        const auto write = [&](const auto& x) {
            skpd::gram(x, by_row, n_rows, h, columns.data(), columns.size(), ones, H);
        };
        std::visit(write, layout);
    }
};

// The steps end at an estimated gap of at most max(least, tol min(constant - dual, 100 primal)), where the objective
// value of the best constant is `constant`. An intercept counts as at most `likely` in size, where it is smaller, and the
// coefficients w (d) as at most `sizes` (d), where neither the penalty nor bounds limit them.
struct NewtonGoal {
    double constant, tol, least, likely;
    std::vector<double> sizes;
};

// A model is minimised to an accuracy that is a share of the largest violation of optimality, by rounds of sweeps. The
// slopes are shares of the first one: a whole step may end at full_step_slope, a shorter one ends at line_search_slope.
struct NewtonSettings {
    double accuracy, full_step_slope, line_search_slope, slope_rounding;
    int halvings, sweeps, rounds;
};

template <class Loss>
class NewtonOnTable {
   public:
    // y and weights (n), variables (m) and derivative (n), which are l'(y_i, z_i) at the end, are borrowed
    NewtonOnTable(const Loss& loss, const TableWithOnes& table, const double* y, const double* weights,
                  const SeparableCoordinates& penalty, const NewtonGoal& goal, const NewtonSettings& settings,
                  double* variables, double* derivative)
        : loss_{loss}, table_(table), y_(y), weights_(weights),
          penalty_(penalty), goal_(goal), settings_(settings), w_(variables), derivative_(derivative),
          upper_(goal.constant),
          z_(table.n_rows), along_(table.n_rows), before_(table.n_rows), slopes_(table.n_rows), h_(table.n_rows),
          g_(table.n_variables()) {}

    // Returns the number of steps.
    int minimise(int max_steps) {
        table_.times(w_, z_.data());
        evaluate();
        for (int step = 0;; ++step) {
            table_.transposed(slopes_.data(), g_.data());
            if (step == max_steps || solved() || !take()) return step;
        }
    }

   private:
    // The losses at z, with their derivatives
    void evaluate() {
        std::tie(loss_sum_, dual_sum_) =
            smoothed_derivatives(loss_, z_.size(), y_, weights_, y_, z_.data(), derivative_, slopes_.data(), h_.data());
    }

    // The gap is an estimate without bounds on rounding, with the dual point of the derivatives.
    bool solved() {
        double primal = loss_sum_, dual = dual_sum_;
        for (std::size_t j = 0; j < penalty_.n_penalised(); ++j) primal += penalty_[j].rise(0.0, w_[j]);
        upper_ = std::min(upper_, primal);
        for (std::size_t j = 0; j < penalty_.n_penalised(); ++j) {
            const double lost = penalty_[j].conjugate(-g_[j], upper_);
            dual -= std::isfinite(lost) ? lost : std::fabs(g_[j]) * goal_.sizes[j];
        }
        if (table_.ones) dual -= std::fabs(g_.back()) * std::max(std::fabs(w_[g_.size() - 1]), goal_.likely);
        return upper_ - dual <= std::max(goal_.least, goal_.tol * std::min(goal_.constant - dual, 100.0 * upper_));
    }

    // The columns whose coefficient is not 0, or is moved by a proximal gradient step
    std::vector<std::int64_t> working_set() const {
        std::vector<std::int64_t> columns;
        for (std::size_t j = 0; j < penalty_.n_penalised(); ++j)
            if (w_[j] != 0.0 || penalty_[j].prox(-g_[j], 1.0) != 0.0) columns.push_back(static_cast<std::int64_t>(j));
        return columns;
    }

    // Takes a step on the working set; returns false if none of any length decreases the objective.
    bool take() {
        const std::vector<std::int64_t> columns = working_set();
        const std::size_t k = columns.size(), m = k + table_.ones;
        std::vector<std::size_t> place(columns.begin(), columns.end());
        if (table_.ones) place.push_back(table_.n_columns);
        std::vector<double> H(m * m), p(m), gradient(m), direction(g_.size(), 0.0);
        std::vector<SeparableTerm> terms;
        for (std::size_t a = 0; a < m; ++a) {
            p[a] = w_[place[a]];
            gradient[a] = g_[place[a]];
            if (a < k) terms.push_back(penalty_[place[a]]);
        }
        table_.gram(h_.data(), columns, H.data());
        double violation = table_.ones ? std::fabs(gradient.back()) : 0.0;
        for (std::size_t a = 0; a < k; ++a)
            if (const double c = H[a * m + a]; c > 0.0)
                violation = std::max(violation, c * std::fabs(p[a] - terms[a].prox(p[a] - gradient[a] / c, 1.0 / c)));
        SupportSystem system;
        system.name(columns.data(), k, m);
        const SeparableCoordinates penalty(terms.empty() ? std::vector{penalty_[0]} : std::move(terms), k);
        const int sweeps = settings_.sweeps + static_cast<int>(std::min<std::size_t>(m / 20, 20));
        alternate({H.data(), m, p.data(), gradient.data()}, penalty, sweeps, settings_.accuracy * violation,
                  settings_.rounds, system);
        double slope = 0.0, rise = 0.0;
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t j = place[a];
            direction[j] = p[a] - w_[j];
            slope += g_[j] * direction[j];
            if (a < k) rise += penalty[a].rise(0.0, p[a]) - penalty[a].rise(0.0, w_[j]);
        }
        table_.times(direction.data(), along_.data());
        before_ = z_;
        const double length = step_length(slope, rise);
        for (std::size_t a = 0; a < m; ++a)
            w_[place[a]] = length == 1.0 ? p[a] : w_[place[a]] + length * direction[place[a]];
        return length > 0.0;
    }

    // The slope of the losses along the step, after moving z to a length of it
    double slope_at(double length) {
        for (std::size_t i = 0; i < z_.size(); ++i) z_[i] = before_[i] + length * along_[i];
        evaluate();
        return dense_dot(slopes_.data(), along_.data(), z_.size());
    }

    // The length t, from 1 downwards, at which sum_i weights_i l + t rise, a convex bound on the objective, is nearly
    // least; z is moved by it.
    double step_length(double slope, double rise) {
        const double beginning = std::fabs(slope + rise);
        const double noise = settings_.slope_rounding * (std::fabs(rise) + upper_);
        if (slope_at(1.0) + rise <= std::max(settings_.full_step_slope * beginning, noise)) return 1.0;
        const double enough = settings_.line_search_slope * beginning;
        double low = 0.0, high = 1.0, at_low = beginning;
        for (int k = 0; k < settings_.halvings && !(low > 0.0 && at_low <= enough); ++k) {
            const double middle = 0.5 * (low + high), value = slope_at(middle) + rise;
            if (value <= 0.0) {
                low = middle;
                at_low = -value;
            } else high = middle;
        }
        slope_at(low);
        return low;
    }

    const Itself<Loss> loss_;
    const TableWithOnes table_;
    const double *y_, *weights_;
    const SeparableCoordinates& penalty_;
    const NewtonGoal& goal_;
    const NewtonSettings settings_;
    double *w_, *derivative_;
    double upper_, loss_sum_ = 0.0, dual_sum_ = 0.0;  // sums of weights_i l(y_i, z_i) and -weights_i l*(y_i, l')
    std::vector<double> z_, along_, before_, slopes_, h_;  // slopes and h are weights_i l' and weights_i l''
    std::vector<double> g_;
};

}  // namespace skpd
