// Primal-dual block Frank-Wolfe (Lei et al., 2019, Algorithm 1) for rows a_i (d), i < n, of the problem
//
//   minimise over ||x||_1 <= radius, b    sum_i c_i l(y_i, z_i) + (mu / 2) ||x||^2,    z_i = a_i . x + b,
//
// which is the saddle point of sum_i c_i (theta_i z_i - l*(y_i, theta_i)) + (mu / 2) ||x||^2. The iterates x (d) and
// theta (n) are kept with their products z (n) and g = sum_i c_i theta_i a_i (d), which change by s columns and k rows
// in an iteration. An intercept is the coefficient of one more feature, whose value is `constant`, outside of the ball;
// the term (mu / 2) (x_b - offset)^2 attracts it to its offset.
//
// There are two rules for the steps.
//
// theory: eta = 1/2, and the proximal step of Theorem 4.1 changes the k dual coordinates with the largest moves at
// once.
//
// line search: eta = 1, so that x minimises the Lagrangian, and each of k coordinates in turn moves to the maximum of
// the dual along it. The dual is the maximum over tau >= 0 of
//
//   -sum_i c_i l*(y_i, theta_i) - ||(|g| - tau)_+||^2 / (2 mu) - tau radius,
//
// and tau is fixed until the next projection: this is block coordinate ascent in (theta, tau).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <variant>
#include <vector>

#include "data/layouts.hpp"
#include "maths/losses.hpp"
#include "maths/norms.hpp"
#include "published/block_frank_wolfe_rows.hpp"
#include "published/column_products.hpp"
#include "published/row_order.hpp"

namespace skpd {

// These are the parameters of the problem and of the rule for the steps.
struct BlockFrankWolfeSettings {
    double mu, radius;
    // The intercept's feature has this constant value, which is 0 without an intercept, and its coefficient is
    // attracted to the offset.
    double constant, offset;
    bool line_search;
    double eta, dual_step;  // for the rule of the theory; dual_step is delta times k
    std::size_t sparsity, n_coordinates;  // s and k; 0 lets s grow as needed, and balances k with it
};

class BlockFrankWolfe {
   public:
    // The loss must outlive this object; y, weights and theta (n).
    BlockFrankWolfe(AnyLoss loss, const MajorVectors& rows, const double* y, const double* weights, const double* theta,
                    const BlockFrankWolfeSettings& settings)
        : loss_(loss), rows_(rows), products_(rows), settings_(settings), n_(rows.n_major), d_(rows.n_minor),
          y_(y, y + n_), weights_(weights, weights + n_), theta_(theta, theta + n_), step_(n_), next_theta_(n_),
          length_(n_), z_(n_, 0.0), g_(d_, 0.0), signs_(d_), centre_(d_), x_(d_, 0.0), next_(d_, 0.0),
          order_(n_, 88172645463325252u) {
        const double constant = settings_.constant;
        for (std::size_t i = 0; i < n_; ++i) {
            double square = constant * constant;
            rows_.for_each(i, [&](std::size_t, double a) { square += a * a; });
            step_[i] = settings_.mu / (weights_[i] * square);
            // the prediction of this row is 0 for every x
            if (!(weights_[i] * square > 0.0) || !std::isfinite(step_[i])) {
                theta_[i] = maximiser(i, 0.0, 1e300);
                step_[i] = 0.0;
            }
        }
        sparsity_ = settings_.sparsity ? std::min(settings_.sparsity, d_) : std::min<std::size_t>(32, d_);
        if (!settings_.line_search) std::fill(step_.begin(), step_.end(), 0.0);  // these are set when k is known
        refresh();
    }

    // Iterates until the gap is at most the target, or max_iter iterations or max_entries entries of the matrix are
    // reached. Returns the number of iterations and the gap.
    std::tuple<int, double> run(double target, int max_iter, double max_entries) {
        const double start = entries_;
        int iteration = 0;
        double gap = std::numeric_limits<double>::infinity();
        while (iteration < max_iter && entries_ - start < max_entries && gap > target) {
            ++iteration;
            // The dual step of the previous iteration comes here, so that the returned gap is that of x and theta.
            if (ready_) dual_step();
            const double excess = primal_step();
            gap = excess + potential();
            ready_ = true;
        }
        return {iteration, gap};
    }

    // Moves the offset to the intercept; returns sum_i c_i theta_i.
    double recentre() {
        settings_.offset = x_b_;
        ready_ = false;
        return std::inner_product(weights_.begin(), weights_.end(), theta_.begin(), 0.0);
    }

    // Computes z and g from x and theta, which removes the rounding errors of their updates.
    void refresh() {
        std::fill(g_.begin(), g_.end(), 0.0);
        g_b_ = 0.0;
        for (std::size_t i = 0; i < n_; ++i) {
            const double change = weights_[i] * theta_[i];
            if (change == 0.0) continue;
            rows_.axpy(i, change, g_.data());
            entries_ += static_cast<double>(rows_.length(i));
            g_b_ += settings_.constant * change;
        }
        if (std::none_of(x_.begin(), x_.end(), [](double value) { return value != 0.0; })) return;
        for (std::size_t i = 0; i < n_; ++i) z_[i] = rows_.dot(i, x_.data()) + settings_.constant * x_b_;
        entries_ += static_cast<double>(rows_.n_entries());
    }

    std::vector<double> theta() const { return theta_; }
    std::vector<double> variables() const {  // x, followed by x_b
        std::vector<double> out = x_;
        out.push_back(x_b_);
        return out;
    }
    double entries() const { return entries_; }  // the number of entries of the matrix that have been read

   private:
    // The maximum of the dual along theta_i, less the square of the move over 2 step, for the prediction z
    double maximiser(std::size_t i, double z, double step) const {
        return std::visit([&](const auto* loss) { return dual_prox(*loss, y_[i], theta_[i], z, step); }, loss_);
    }

    // Takes the step (8) and updates the product (9). Returns the Lagrangian at x minus its least value.
    double primal_step() {
        const double mu = settings_.mu, eta = settings_.line_search ? 1.0 : settings_.eta;
        const double scale = 1.0 / mu, length = 1.0 / eta;
        for (std::size_t j = 0; j < d_; ++j) centre_[j] = x_[j] - (g_[j] * scale + x_[j]) * length;
        tau_ = l1_threshold(centre_.data(), d_, settings_.radius, 0.0, tau_);
        support_.clear();
        for (std::size_t j = 0; j < d_; ++j)
            if (std::fabs(centre_[j]) > tau_) support_.push_back(static_cast<std::uint32_t>(j));
        if (support_.size() > sparsity_) truncate();
        // x <- (1 - eta) x + eta x~, where x~ is the projection
        std::fill(next_.begin(), next_.end(), 0.0);
        for (const std::uint32_t j : support_) next_[j] = soft(centre_[j], tau_);
        const double before_b = x_b_;
        if (settings_.constant != 0.0) x_b_ = settings_.offset - g_b_ / mu;
        // z <- (1 - eta) z + eta A x~
        const double keep = 1.0 - eta, shift = settings_.constant * (x_b_ - keep * before_b);
        for (std::size_t j = 0; j < d_; ++j) {
            next_[j] *= eta;
            x_[j] = keep * x_[j] + next_[j];
        }
        for (double& value : z_) value = keep * value + shift;
        const auto likely = [&](std::size_t j) { return next_[j] != 0.0 || 2.0 * std::fabs(centre_[j]) > tau_; };
        const double visited = products_.add(next_.data(), support_, likely, z_.data());
        entries_ += visited;
        choose_n_coordinates(visited + static_cast<double>(n_ + d_));
        return settings_.line_search && !truncated_ ? 0.0 : excess();
    }

    // Restricts the projection to the s largest coordinates of the centre.
    void truncate() {
        if (settings_.sparsity == 0) {  // no sparsity is given, so that s grows as needed
            while (sparsity_ < support_.size()) sparsity_ *= 2;
            sparsity_ = std::min(sparsity_, d_);
            return;
        }
        truncated_ = true;
        const auto last = support_.begin() + static_cast<std::ptrdiff_t>(sparsity_);
        std::nth_element(support_.begin(), last, support_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::fabs(centre_[a]) > std::fabs(centre_[b]);
        });
        support_.resize(sparsity_);
        std::vector<double> largest(sparsity_);
        for (std::size_t k = 0; k < sparsity_; ++k) largest[k] = centre_[support_[k]];
        tau_ = l1_threshold(largest.data(), sparsity_, settings_.radius, 0.0, tau_);
    }

    // g . x + (mu / 2) ||x||^2 minus its least value over the ball
    double excess() const {
        const double tau = l1_threshold(g_.data(), d_, settings_.mu * settings_.radius, 0.0, 0.0);
        double sum = tau * settings_.radius;
        for (std::size_t j = 0; j < d_; ++j) {
            const double v = soft(g_[j], tau);
            sum += g_[j] * x_[j] + 0.5 * settings_.mu * x_[j] * x_[j] + 0.5 * v * (v / settings_.mu);
        }
        return sum;
    }

    // Chooses k such that k rows have as many entries as the s columns: n s / d, as in the paper, or with a line search
    // from the number of entries that the primal step has read.
    void choose_n_coordinates(double visited) {
        if (settings_.n_coordinates) {
            n_coordinates_ = std::min(settings_.n_coordinates, n_);
        } else if (!settings_.line_search) {
            n_coordinates_ = std::clamp<std::size_t>(n_ * sparsity_ / std::max<std::size_t>(d_, 1), 1, n_);
        } else {
            const double total = std::max(static_cast<double>(rows_.n_entries()), 1.0);
            n_coordinates_ = static_cast<std::size_t>(static_cast<double>(n_) * std::min(visited / total, 1.0));
            n_coordinates_ = std::max<std::size_t>(n_coordinates_, 1);
        }
        if (!settings_.line_search)
            for (std::size_t i = 0; i < n_; ++i)
                step_[i] = weights_[i] * settings_.dual_step / static_cast<double>(n_coordinates_);
    }

    // Computes the moves (10) of all dual variables; returns the share of the rows in the gap.
    double potential() {
        return std::visit([&](const auto* loss) {
            potential_moves(*loss, n_, y_.data(), theta_.data(), z_.data(), step_.data(), next_theta_.data(),
                            length_.data());
            return fenchel_young_gap(*loss, n_, y_.data(), weights_.data(), theta_.data(), z_.data());
        }, loss_);
    }

    // Moves k rows and updates the product (12): the rows with the longest moves, or with a line search the next rows
    // in a random order whose moves are not 0.
    void dual_step() {
        if (settings_.line_search) {
            chosen_.clear();
            for (std::size_t seen = 0; seen < n_ && chosen_.size() < n_coordinates_; ++seen)
                if (const std::uint32_t i = order_.next(); length_[i] > 0.0) chosen_.push_back(i);
            maximise_in_turn();
        } else {
            longest_moves(length_, n_coordinates_, sorted_, chosen_);
            for (const std::uint32_t i : chosen_) move(i, next_theta_[i]);
        }
        const double visited = static_cast<double>(chosen_.size()) * static_cast<double>(rows_.n_entries()) /
                               static_cast<double>(std::max<std::size_t>(n_, 1));
        entries_ += settings_.line_search ? 2.0 * visited : visited;
    }

    // theta_i <- next, and updates g and g_b. Returns c_i times the change.
    double move(std::uint32_t i, double next) {
        const double change = weights_[i] * (next - theta_[i]);
        theta_[i] = next;
        if (change == 0.0) return 0.0;
        rows_.axpy(i, change, g_.data());
        g_b_ += settings_.constant * change;
        return change;
    }

    // Moves every chosen coordinate in turn to the maximum of the dual along it at the present tau. After each move tau
    // takes a Newton step for sum_j (|g_j| - tau)_+ = mu radius, whose left side is updated as if no |g_j| had crossed
    // tau since the beginning.
    void maximise_in_turn() {
        const double mu = settings_.mu, total = mu * settings_.radius;
        double tau = tau_ * mu, sum = 0.0, count = 0.0;
        for (std::size_t j = 0; j < d_; ++j) {
            const double above = g_[j] > tau ? 1.0 : 0.0, below = g_[j] < -tau ? 1.0 : 0.0;
            signs_[j] = above - below;
            count += above + below;
            sum += signs_[j] * g_[j];
        }
        sum -= count * tau;
        count = std::max(count, 1.0);
        const double share = 1.0 / count;
        for (const std::uint32_t i : chosen_) {
            const auto [excess, slope] = along_row(rows_, i, g_.data(), signs_.data(), tau);
            const double z = -excess / mu + settings_.constant * (settings_.offset - g_b_ / mu);
            const double change = move(i, maximiser(i, z, step_[i]));
            sum += change * slope;
            const double to = std::max(tau + (sum - total) * share, 0.0);
            sum -= (to - tau) * count;
            tau = to;
        }
        tau_ = tau / mu;
    }

    const AnyLoss loss_;
    const MajorVectors rows_;
    ColumnProducts products_;
    BlockFrankWolfeSettings settings_;
    const std::size_t n_, d_;
    std::vector<double> y_, weights_, theta_, step_, next_theta_, length_, sorted_;
    std::vector<double> z_, g_, signs_, centre_, x_, next_;
    double x_b_ = 0.0, g_b_ = 0.0, tau_ = 0.0;
    std::vector<std::uint32_t> support_, chosen_;  // the columns of x~, and the rows that move
    std::size_t sparsity_ = 0, n_coordinates_ = 1;
    bool truncated_ = false;  // whether the support of x~ has ever been truncated
    bool ready_ = false;  // whether the moves of the dual variables are known
    RowOrder order_;
    double entries_ = 0.0;
};

}  // namespace skpd
