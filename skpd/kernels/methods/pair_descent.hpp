// Sequential minimal optimisation (Platt, 1998) on a kernel matrix K (n, n), for any loss whose conjugate has quadratic
// pieces:
//
//   maximise over theta (n)   - sum_i c_i l*(y_i, theta_i) - (1 / 2 alpha) (c theta)' K (c theta)
//
// subject to sum_i c_i theta_i = 0 if there is an intercept b. The values of the function are z = -(1 / alpha) K (c
// theta) (n). A point is optimal if z_i + b lies between the left and the right derivative of l*(y_i, .) at theta_i for
// all i and one b. Otherwise the row with the largest violation changes, by itself without an intercept, and otherwise
// with a second row, the one for which the dual increases most by the second-order model (Fan, Chen and Lin, 2005,
// Working set selection using second order information for training support vector machines). A step ends at the end of
// a piece of the conjugate. Rows of K are given one after another: theta_i = 0 where row i is missing, and more rows are
// asked for where the missing ones violate the conditions most.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "data/compensated.hpp"
#include "maths/losses.hpp"

namespace skpd {

// Any of the losses whose conjugate has quadratic pieces
using PieceLoss = std::variant<const HingeLoss*, const GeneralizedHingeLoss*, const PiecewiseLinearLoss*,
                               const ResidualLoss*>;

// The place of the largest of n values, 0 if all are NaN
inline std::size_t place_of(double largest, const double* values, std::size_t n) {
    const std::size_t place = static_cast<std::size_t>(std::find(values, values + n, largest) - values);
    return place < n ? place : 0;
}

class PairDescent {
   public:
    // The diagonal of K, y and weights (n). The loss and the arrays must outlive this object.
    PairDescent(PieceLoss loss, const double* diagonal, std::size_t n, const double* y, const double* weights,
                double alpha, bool has_intercept)
        : loss_(loss), diagonal_(diagonal), n_(n), y_(y), weights_(weights), alpha_(alpha),
          has_intercept_(has_intercept), rows_(n, nullptr), theta_(n, 0.0), z_(n, 0.0), score_(n),
          left_(n, -infinity), right_(n, infinity) {
        for (std::size_t i = 0; i < n; ++i) {
            update_pieces(i);
            first_slopes_.emplace_back(std::exchange(left_.slope[i], -infinity),
                                       std::exchange(right_.slope[i], infinity));
        }
    }

    // Takes steps until the gap is at most the target, or max_steps of them. Returns their number and the gap.
    std::tuple<double, double> run(double target, double max_steps) {
        double steps = 0.0, gap = this->gap();
        while (gap > target && steps < max_steps) {
            int moved = 0;
            while (moved < steps_between_gaps && steps < max_steps && (has_intercept_ ? pair() : single())) {
                ++moved;
                ++steps;
            }
            gap = this->gap();
            // a missing row violates more, or no row can move, so that the rest of the gap is rounding
            if (moved == 0 || misses_more()) break;
        }
        return {steps, gap};
    }

    // The missing rows of K that violate the conditions more than all others, at most `most`, largest first.
    std::vector<std::int64_t> missing_rows(std::size_t most) const {
        std::vector<std::pair<double, std::int64_t>> violations;
        for (std::size_t i = 0; i < n_; ++i) {
            const double violation = rows_[i] ? 0.0 : violation_of_missing(i);
            if (violation > 0.0) violations.emplace_back(-violation, i);
        }
        const auto end = violations.begin() + static_cast<std::ptrdiff_t>(std::min(most, violations.size()));
        std::partial_sort(violations.begin(), end, violations.end());
        std::vector<std::int64_t> missing;
        for (auto pair = violations.begin(); pair != end && -pair->first > own_violation(); ++pair)
            missing.push_back(pair->second);
        return missing;
    }

    // Gives rows of K (n_rows, n), which must outlive this object.
    void add_rows(const std::int64_t* rows, std::size_t n_rows, const double* values) {
        for (std::size_t k = 0; k < n_rows; ++k) {
            const std::size_t i = static_cast<std::size_t>(rows[k]);
            rows_[i] = values + k * n_;
            update_pieces(i);
        }
    }

    // Recomputes z from theta, which removes accumulated rounding errors.
    void refresh() {
        std::fill(z_.begin(), z_.end(), 0.0);
        for (std::size_t i = 0; i < n_; ++i)
            if (weights_[i] * theta_[i] != 0.0) add(i, -weights_[i] * theta_[i] / alpha_, i, 0.0);
    }

    std::size_t n_rows() const { return n_; }
    std::vector<double> theta() const { return theta_; }
    // The middle of the interval of intercepts that the rows admit, or its finite end; 0 if both are infinite
    double intercept() const {
        if (!has_intercept_ || !(std::isfinite(lowest_) || std::isfinite(highest_))) return 0.0;
        if (!std::isfinite(highest_)) return lowest_;
        return std::isfinite(lowest_) ? 0.5 * (lowest_ + highest_) : highest_;
    }

   private:
    static constexpr int steps_between_gaps = 100;  // the gap takes about as much time as a step
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    // Rows are asked for where the largest violation of a missing row is this multiple of the others'. Steps without new
    // rows take less time; with 1, 3 and 10 a fit took about as long.
    static constexpr double patience = 2.0;

    // The pieces of the conjugates on one side of each theta_i: the derivative of l*(y_i, .) there, its curvature over
    // c_i, and c_i times the length of the piece, the largest change. Beyond the domain the derivative is infinite, of
    // the sign of the side. All vectors have n entries.
    struct Side {
        double beyond;
        std::vector<double> slope, curvature, max_change;
        Side(std::size_t n, double beyond) : beyond(beyond), slope(n), curvature(n), max_change(n) {}
    };

    QuadraticPiece piece(const Side& side, std::size_t i) const {
        const double beside = std::nextafter(theta_[i], side.beyond);
        return std::visit([&](const auto* loss) { return dual_piece(*loss, y_[i], beside); }, loss_);
    }
    void update_pieces(std::size_t i) {
        for (Side* side : {&left_, &right_}) {
            const QuadraticPiece next = piece(*side, i);
            const double room = side->beyond < 0.0 ? theta_[i] - next.lower : next.upper - theta_[i];
            const bool moves = weights_[i] > 0.0 && room > 0.0;
            side->slope[i] = moves ? next.slope : side->beyond;
            side->curvature[i] = moves ? next.curvature / weights_[i] : 0.0;
            side->max_change[i] = moves ? weights_[i] * room : 0.0;
        }
    }

    // theta_i += change / c_i, or the exact end of the piece if the change is the largest one
    void move(std::size_t i, double change) {
        const Side& side = change < 0.0 ? left_ : right_;
        if (std::fabs(change) < side.max_change[i]) theta_[i] += change / weights_[i];
        else theta_[i] = change < 0.0 ? piece(side, i).lower : piece(side, i).upper;
        update_pieces(i);
    }

    // Takes a step of the two rows with the largest increase of the dual; returns false if no pair violates the
    // optimality conditions.
    bool pair() {
        const std::size_t i = most_violating(left_);
        highest_ = left_.slope[i] - z_[i];
        if (!(highest_ > -infinity)) return false;
        const std::size_t j = partner(i);
        if (!(highest_ > lowest_) || !(score_[j] > 0.0)) return false;
        const double violation = highest_ - (right_.slope[j] - z_[j]);
        const double curvature_along = (diagonal_[i] + diagonal_[j] - 2.0 * rows_[i][j]) / alpha_;
        const double step = length(violation, curvature_along + left_.curvature[i] + right_.curvature[j],
                                   std::min(left_.max_change[i], right_.max_change[j]));
        move(i, -step);
        move(j, step);
        add(i, step / alpha_, j, -step / alpha_);
        return step > 0.0;
    }

    // Takes a step of the row that violates the optimality conditions most; returns whether there is one.
    bool single() {
        const std::size_t down = most_violating(left_), up = most_violating(right_);
        const double falls = left_.slope[down] - z_[down], rises = z_[up] - right_.slope[up];
        const bool lower = falls >= rises;
        const std::size_t i = lower ? down : up;
        const Side& side = lower ? left_ : right_;
        highest_ = std::max(falls, rises);
        if (!(highest_ > 0.0)) return false;
        const double step = length(highest_, diagonal_[i] / alpha_ + side.curvature[i], side.max_change[i]);
        move(i, lower ? -step : step);
        add(i, (lower ? step : -step) / alpha_, i, 0.0);
        return step > 0.0;
    }

    // The violation of the optimality condition of a missing row, where theta_i = 0, by the current intercept
    double violation_of_missing(std::size_t i) const {
        const double z = z_[i] + intercept();
        return std::max(first_slopes_[i].first - z, z - first_slopes_[i].second);
    }
    // The largest violation of the other rows
    double own_violation() const { return has_intercept_ ? 0.5 * (highest_ - lowest_) : highest_; }
    // Whether a missing row violates more than the others
    bool misses_more() const {
        const double own = own_violation();
        for (std::size_t i = 0; i < n_; ++i)
            if (!rows_[i] && violation_of_missing(i) > patience * own) return true;
        return false;
    }

    // min(violation / curvature, max_change), the length of a step
    static double length(double violation, double curvature_along, double max_change) {
        const double step = curvature_along > 0.0 ? violation / curvature_along : infinity;
        return std::min(step, std::isfinite(max_change) ? max_change : std::numeric_limits<double>::max());
    }

    // argmax_i sign (slope_i - z_i), with sign 1 on the left and -1 on the right. GCC vectorises this comparison, and
    // does not vectorise std::max, with which a step took twice as long.
    SKPD_CLONES std::size_t most_violating(const Side& side) {
        const double *slope = side.slope.data(), *z = z_.data(), sign = side.beyond < 0.0 ? 1.0 : -1.0;
        double *out = score_.data(), largest = -infinity;
#pragma omp simd reduction(max : largest)
        for (std::size_t i = 0; i < n_; ++i) {
            out[i] = sign * (slope[i] - z[i]);
            largest = out[i] > largest ? out[i] : largest;
        }
        return place_of(largest, out, n_);
    }

    // The row j whose theta_j should increase as theta_i decreases, by the increase of the dual if no piece ends:
    // argmax_j max(highest - slope_j + z_j, 0)^2 / curvature of the pair. It also sets lowest_ to min_j slope_j - z_j.
    SKPD_CLONES std::size_t partner(std::size_t i) {
        const double highest = highest_, diagonal = diagonal_[i], curvature = left_.curvature[i], scale = 1.0 / alpha_;
        const double *row = rows_[i], *diagonals = diagonal_, *slope = right_.slope.data(), *z = z_.data();
        const double* curvatures = right_.curvature.data();
        double *out = score_.data(), min_derivative = infinity, largest = -infinity;
#pragma omp simd reduction(min : min_derivative) reduction(max : largest)
        for (std::size_t j = 0; j < n_; ++j) {
            const double at = slope[j] - z[j], violation = std::max(highest - at, 0.0);
            const double curvature_along = scale * (diagonal + diagonals[j] - 2.0 * row[j]) + curvature + curvatures[j];
            const double min_curvature = 1e-12 * scale * (diagonal + diagonals[j]) + 1e-300;
            out[j] = violation * violation / std::max(curvature_along, min_curvature);
            min_derivative = at < min_derivative ? at : min_derivative;
            largest = out[j] > largest ? out[j] : largest;
        }
        lowest_ = min_derivative;
        return place_of(largest, out, n_);
    }

    // z += a K_i + b K_j
    SKPD_CLONES void add(std::size_t i, double a, std::size_t j, double b) {
        const double *one = rows_[i], *other = rows_[j];
        double* z = z_.data();
#pragma omp simd
        for (std::size_t k = 0; k < n_; ++k) z[k] += a * one[k] + b * other[k];
    }

    // sum_i c_i (l(y_i, z_i + b) + l*(y_i, theta_i) - theta_i (z_i + b)), with an update of b
    double gap() {
        if (has_intercept_) {
            const std::size_t i = most_violating(left_), j = most_violating(right_);
            highest_ = left_.slope[i] - z_[i];
            lowest_ = right_.slope[j] - z_[j];
        }
        const double b = intercept();
        double sum = 0.0;
        std::visit([&](const auto* loss) {
            for (std::size_t i = 0; i < n_; ++i) sum += weights_[i] * fenchel_young(*loss, y_[i], theta_[i], z_[i] + b);
        }, loss_);
        return std::max(sum, 0.0);
    }

    const PieceLoss loss_;
    const double* diagonal_;
    const std::size_t n_;
    const double *y_, *weights_;
    const double alpha_;
    const bool has_intercept_;
    std::vector<const double*> rows_;  // of K (n), null where they are missing
    std::vector<std::pair<double, double>> first_slopes_;  // the slopes on both sides of theta_i = 0 (n)
    std::vector<double> theta_, z_, score_;
    Side left_, right_;
    // max_i left slope_i - z_i and min_i right slope_i - z_i; without an intercept highest_ is the largest violation
    double highest_ = 0.0, lowest_ = 0.0;
};

}  // namespace skpd
