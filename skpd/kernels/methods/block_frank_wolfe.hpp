// Primal-dual block Frank-Wolfe (Lei et al., 2019, Algorithm 1) for
//
//     minimise over ||x||_1 <= radius, b    sum_i c_i l(y_i, z_i) + (mu / 2) ||x||^2,    z_i = a_i . x + b,
//
// as the saddle point of sum_i c_i (theta_i z_i - l*(y_i, theta_i)) + (mu / 2) ||x||^2. Kept beside
// the iterates x and theta are both of their products, z and g = sum_i c_i theta_i a_i, which change by
// s columns and k rows in an iteration. An intercept is the coordinate of one more feature, of the value
// `constant`, outside the ball; it is drawn to its offset by (mu / 2) (x_b - offset)^2.
//
// Two rules for the steps:
//
// theory       eta = 1/2 and the proximal step of Theorem 4.1 on the k dual coordinates with the largest
//              moves, all at once.
// line search  eta = 1, so that x is where the Lagrangian is least, and the k coordinates one after the
//              other each to where the dual is largest along it. The dual is the largest over tau >= 0 of
//              -sum_i c_i l*(y_i, theta_i) - ||(|g| - tau)_+||^2 / (2 mu) - tau radius, and tau waits for
//              the next projection: block coordinate ascent in (theta, tau).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

#include "data/matrix.hpp"
#include "data/sparse_products.hpp"
#include "maths/losses.hpp"
#include "maths/random.hpp"
#include "maths/soft_threshold.hpp"
#include "methods/block_frank_wolfe_rows.hpp"

namespace skpd {

struct BlockFrankWolfeSettings {
    double mu, radius;
    double constant, offset;  // of the intercept; constant 0 without one
    bool line_search;
    double eta, dual_step;  // of the theory; dual_step is delta times k
    std::size_t sparsity, n_coordinates;  // s and k; 0: found, and balanced with it
};

// What the algorithm offers, whatever its loss and layout.
struct BlockFrankWolfe {
    virtual ~BlockFrankWolfe() = default;
    // Iterations until the gap is at most the target, or so many, or so many entries of the matrix.
    // Returns their number and the gap.
    virtual std::tuple<int, double> run(double target, int max_iter, double max_entries) = 0;
    // Moves the offset to the intercept; returns sum_i c_i theta_i.
    virtual double recentre() = 0;
    // Computes the products from x and theta, rid of the rounding of their changes.
    virtual void refresh() = 0;
    virtual std::vector<double> theta() const = 0;
    virtual std::vector<double> variables() const = 0;  // x and x_b
    virtual double entries() const = 0;                 // of the matrix that have been visited
    virtual std::size_t sparsity() const = 0;
    virtual std::size_t n_coordinates() const = 0;
};

template <class Loss, class M>
class BlockFrankWolfeOn final : public BlockFrankWolfe {
   public:
    BlockFrankWolfeOn(const Loss& loss, const M& rows, const double* y, const double* weights, const double* theta,
                      const BlockFrankWolfeSettings& settings)
        : loss_(loss), rows_(rows), products_(rows), set_(settings), n_(rows.n_major), d_(rows.n_minor),
          y_(y, y + n_), weights_(weights, weights + n_), theta_(theta, theta + n_), step_(n_), moved_(n_), score_(n_),
          z_(n_, 0.0), g_(d_, 0.0), signs_(d_), centre_(d_), x_(d_, 0.0), next_(d_, 0.0) {
        const double constant = set_.constant;
        for (std::size_t i = 0; i < n_; ++i) {
            double square = constant * constant;
            rows_.for_each(i, [&](std::size_t, double a) { square += a * a; });
            step_[i] = set_.mu / (weights_[i] * square);
            if (!(weights_[i] * square > 0.0) || !std::isfinite(step_[i])) {  // its prediction is 0 whatever x is
                theta_[i] = dual_prox(loss_, y_[i], theta_[i], 0.0, 1e300);
                step_[i] = 0.0;
            }
        }
        sparsity_ = set_.sparsity ? std::min(set_.sparsity, d_) : std::min<std::size_t>(32, d_);
        if (!set_.line_search) std::fill(step_.begin(), step_.end(), 0.0);  // set when k is known
        shuffle();
        refresh();
    }

    std::tuple<int, double> run(double target, int max_iter, double max_entries) override {
        const double start = entries_;
        int iteration = 0;
        double gap = std::numeric_limits<double>::infinity();
        while (iteration < max_iter && entries_ - start < max_entries && gap > target) {
            ++iteration;
            if (ready_) dual_step();  // of the iteration before: x and theta remain the points whose gap is known
            const double excess = primal_step();
            gap = excess + potential();
            ready_ = true;
        }
        return {iteration, gap};
    }

    double recentre() override {
        double sum = 0.0;
        for (std::size_t i = 0; i < n_; ++i) sum += weights_[i] * theta_[i];
        set_.offset = x_b_;
        ready_ = false;
        return sum;
    }

    void refresh() override {
        std::fill(g_.begin(), g_.end(), 0.0);
        g_b_ = 0.0;
        for (std::size_t i = 0; i < n_; ++i) {
            const double change = weights_[i] * theta_[i];
            if (change == 0.0) continue;
            rows_.axpy(i, change, g_.data());
            entries_ += static_cast<double>(rows_.length(i));
            g_b_ += set_.constant * change;
        }
        if (std::none_of(x_.begin(), x_.end(), [](double value) { return value != 0.0; })) return;
        for (std::size_t i = 0; i < n_; ++i) z_[i] = rows_.dot(i, x_.data()) + set_.constant * x_b_;
        entries_ += static_cast<double>(rows_.n_entries());
    }

    std::vector<double> theta() const override { return theta_; }
    std::vector<double> variables() const override {
        std::vector<double> out = x_;
        out.push_back(x_b_);
        return out;
    }
    double entries() const override { return entries_; }
    std::size_t sparsity() const override { return sparsity_; }
    std::size_t n_coordinates() const override { return k_; }

   private:
    double eta() const { return set_.line_search ? 1.0 : set_.eta; }

    // The step (8) and the product (9). Returns how far x is above where the Lagrangian is least.
    double primal_step() {
        const double mu = set_.mu, eta_ = eta(), scale = 1.0 / mu, length = 1.0 / eta_;
        for (std::size_t j = 0; j < d_; ++j) centre_[j] = x_[j] - (g_[j] * scale + x_[j]) * length;
        tau_ = l1_threshold(centre_.data(), d_, set_.radius, tau_);
        support_.clear();
        for (std::size_t j = 0; j < d_; ++j)
            if (std::fabs(centre_[j]) > tau_) support_.push_back(static_cast<std::uint32_t>(j));
        if (support_.size() > sparsity_) truncate();
        // x~, then x <- (1 - eta) x + eta x~
        std::fill(next_.begin(), next_.end(), 0.0);
        for (const std::uint32_t j : support_) next_[j] = soft(centre_[j], tau_);
        const double before_b = x_b_;
        if (set_.constant != 0.0) x_b_ = set_.offset - g_b_ / mu;
        // z <- (1 - eta) z + eta A x~
        const double keep = 1.0 - eta_, shift = set_.constant * (x_b_ - keep * before_b);
        for (std::size_t j = 0; j < d_; ++j) {
            next_[j] *= eta_;
            x_[j] = keep * x_[j] + next_[j];
        }
        for (double& value : z_) value = keep * value + shift;
        add_columns();
        choose_n_coordinates();
        return set_.line_search && !truncated_ ? 0.0 : excess();
    }

    // The s largest coordinates of the centre, projected
    void truncate() {
        truncated_ = true;
        if (set_.sparsity == 0) {  // it has filled: let it grow
            while (sparsity_ < support_.size()) sparsity_ *= 2;
            sparsity_ = std::min(sparsity_, d_);
            truncated_ = false;
            return;
        }
        const auto last = support_.begin() + static_cast<std::ptrdiff_t>(sparsity_);
        std::nth_element(support_.begin(), last, support_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::fabs(centre_[a]) > std::fabs(centre_[b]);
        });
        support_.resize(sparsity_);
        std::vector<double> largest(sparsity_);
        for (std::size_t k = 0; k < sparsity_; ++k) largest[k] = centre_[support_[k]];
        tau_ = l1_threshold(largest.data(), sparsity_, set_.radius, tau_);
    }

    // g . x + (mu / 2) ||x||^2 minus its least value over the ball
    double excess() const {
        const double tau = l1_threshold(g_.data(), d_, set_.mu * set_.radius, 0.0);
        double sum = tau * set_.radius;
        for (std::size_t j = 0; j < d_; ++j) {
            const double v = soft(g_[j], tau);
            sum += g_[j] * x_[j] + 0.5 * set_.mu * x_[j] * x_[j] + 0.5 * v * (v / set_.mu);
        }
        return sum;
    }

    void add_columns() {
        if constexpr (is_dense) {
            for (std::size_t i = 0; i < n_; ++i) {
                const auto* row = rows_.major(i);
                double sum = 0.0;
                for (const std::uint32_t j : support_) sum += static_cast<double>(row[j]) * next_[j];
                z_[i] += sum;
            }
            column_entries_ = static_cast<double>(n_ * support_.size());
            entries_ += column_entries_;
        } else {
            const auto likely = [&](std::size_t j) { return next_[j] != 0.0 || 2.0 * std::fabs(centre_[j]) > tau_; };
            const double visited = products_.add(next_.data(), support_, likely, z_.data());
            entries_ += visited;
            column_entries_ = set_.line_search ? visited : products_.needed();
        }
    }

    // k such that its rows hold as many entries as the s columns: n s / d, as in the paper, or with a line
    // search as many as there are, as it visits.
    void choose_n_coordinates() {
        if (set_.n_coordinates) {
            k_ = std::min(set_.n_coordinates, n_);
        } else if (!set_.line_search) {
            k_ = std::clamp<std::size_t>(n_ * sparsity_ / std::max<std::size_t>(d_, 1), 1, n_);
        } else {
            const double total = std::max(static_cast<double>(rows_.n_entries()), 1.0);
            const double visited = column_entries_ + static_cast<double>(n_ + d_);
            k_ = static_cast<std::size_t>(static_cast<double>(n_) * std::min(visited / total, 1.0));
            k_ = std::max<std::size_t>(k_, 1);
        }
        if (!set_.line_search)
            for (std::size_t i = 0; i < n_; ++i)
                step_[i] = weights_[i] * set_.dual_step / static_cast<double>(k_);
    }

    // Where each dual variable would go, (10), and how far; returns the rows' share of the gap.
    double potential() {
        potential_moves(loss_, n_, y_.data(), theta_.data(), z_.data(), step_.data(), moved_.data(), score_.data());
        return fenchel_young_gap(loss_, n_, y_.data(), weights_.data(), theta_.data(), z_.data());
    }

    // The product (12) after the moves of k rows: of the k largest moves (11), or with a line search of the next
    // that move at all in a random order of the rows.
    void dual_step() {
        chosen_.clear();
        if (set_.line_search) {
            for (std::size_t visited = 0; visited < n_ && chosen_.size() < k_; ++visited) {
                if (place_ == n_) shuffle();
                const std::uint32_t i = order_[place_++];
                if (score_[i] > 0.0) chosen_.push_back(i);
            }
        } else {
            double least = 0.0;
            if (k_ < n_) {
                sorted_ = score_;
                const auto place = sorted_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
                std::nth_element(sorted_.begin(), place, sorted_.end(), std::greater<double>());
                least = *place;
            }
            // what ties with the least of them comes last, in the order of the rows
            for (const bool tie : {false, true})
                for (std::size_t i = 0; i < n_ && chosen_.size() < k_; ++i)
                    if (score_[i] > 0.0 && (tie ? score_[i] == least : score_[i] > least))
                        chosen_.push_back(static_cast<std::uint32_t>(i));
        }
        if (set_.line_search) {
            maximise_in_turn();
        } else {
            for (const std::uint32_t i : chosen_) move(i, moved_[i]);
        }
        const double visited = static_cast<double>(chosen_.size()) * static_cast<double>(rows_.n_entries()) /
                               static_cast<double>(std::max<std::size_t>(n_, 1));
        entries_ += set_.line_search ? 2.0 * visited : visited;
    }

    double move(std::uint32_t i, double next) {
        const double change = weights_[i] * (next - theta_[i]);
        theta_[i] = next;
        if (change == 0.0) return 0.0;
        rows_.axpy(i, change, g_.data());
        g_b_ += set_.constant * change;
        return change;
    }

    // Every chosen coordinate to where the dual is largest along it at the present tau, which then follows:
    // by a Newton step for sum_j (|g_j| - tau)_+ = mu radius, that sum known but for the kinks on the way.
    void maximise_in_turn() {
        const double mu = set_.mu, total = mu * set_.radius;
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
            const auto [excess, slope] = along_row(i, tau);
            const double z = -excess / mu + set_.constant * (set_.offset - g_b_ / mu);
            const double change = move(i, dual_prox(loss_, y_[i], theta_[i], z, step_[i]));
            sum += change * slope;
            const double to = std::max(tau + (sum - total) * share, 0.0);
            sum -= (to - tau) * count;
            tau = to;
        }
        tau_ = tau / mu;
    }

    AlongRow along_row(std::size_t i, double tau) const {
        const double *g = g_.data(), *signs = signs_.data();
        if constexpr (is_dense) {
            return along_dense_row(rows_.major(i), g, signs, tau, d_);
        } else {
            AlongRow even, odd;  // two chains, so that additions overlap
            const auto take = [&](AlongRow& total, auto p) {
                const double a = static_cast<double>(rows_.data[p]);
                const auto j = rows_.indices[p];
                total.excess += a * soft(g[j], tau);
                total.slope += a * signs[j];
            };
            auto p = rows_.indptr[i];
            const auto end = rows_.indptr[i + 1];
            for (; p + 1 < end; p += 2) {
                take(even, p);
                take(odd, p + 1);
            }
            if (p < end) take(even, p);
            return {even.excess + odd.excess, even.slope + odd.slope};
        }
    }

    // A random order of the rows, in blocks of neighbours, which the cache likes.
    void shuffle() {
        place_ = 0;
        constexpr std::size_t block = 8;
        std::vector<std::uint32_t> blocks((n_ + block - 1) / block);
        std::iota(blocks.begin(), blocks.end(), std::uint32_t{0});
        for (std::size_t k = blocks.size(); k > 1; --k) std::swap(blocks[k - 1], blocks[random_.below(k)]);
        order_.clear();
        for (const std::size_t first : blocks)
            for (std::size_t i = first * block; i < std::min((first + 1) * block, n_); ++i)
                order_.push_back(static_cast<std::uint32_t>(i));
    }

    static constexpr bool is_dense = std::is_same_v<M, Dense<double>> || std::is_same_v<M, Dense<float>>;

    const Loss loss_;
    const M rows_;
    SparseProducts<M> products_;
    BlockFrankWolfeSettings set_;
    const std::size_t n_, d_;
    std::vector<double> y_, weights_, theta_, step_, moved_, score_, sorted_;
    std::vector<double> z_, g_, signs_, centre_, x_, next_;
    double x_b_ = 0.0, g_b_ = 0.0, tau_ = 0.0;
    std::vector<std::uint32_t> support_, chosen_, order_;
    std::size_t sparsity_ = 0, k_ = 1, place_ = 0;
    bool truncated_ = false;
    bool ready_ = false;  // the moves of the dual variables are known
    Xorshift random_{88172645463325252u};
    double entries_ = 0.0, column_entries_ = 0.0;
};

}  // namespace skpd
