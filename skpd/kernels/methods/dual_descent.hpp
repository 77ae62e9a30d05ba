// Dual coordinate descent (Hsieh et al., 2008) for
//
//     minimise over v    sum_i c_i l(y_i, z_i) + (alpha / 2) ||v||^2,    z_i = (x_i, s) . v
//
// whose dual point theta gives v = offset e - (1 / alpha) sum_i c_i theta_i (x_i, s), e the last
// unit vector. With s > 0 the last entry of v is the intercept over s, near its offset by a proximal
// term. With an additional l1 norm of weight alpha threshold, z_i is computed with coefficients that
// are soft-thresholded: as this map is non-expansive, steps and bounds stay valid.
//
// There are three additions to the published method: rows are visited in blocks of neighbours, for
// the cache; the gap is estimated from the predictions of an epoch; and the dual is maximised over
// the subspace of the moves of the last epochs (`MoveSubspace`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "maths/losses.hpp"
#include "maths/random.hpp"
#include "methods/active_rows.hpp"
#include "methods/dual_iterate.hpp"
#include "methods/move_subspace.hpp"
#include "methods/seen_predictions.hpp"

namespace skpd {

// The interface of dual coordinate descent for all losses and layouts.
struct DualDescent {
    virtual ~DualDescent() = default;
    // Runs epochs until the gap is at most the target, with limits on epochs and visits of rows.
    // Returns the numbers of both and the gap (inf while unknown).
    virtual std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) = 0;
    // Moves the offset to the last entry of v; returns sum_i c_i theta_i.
    virtual double recentre() = 0;
    // Computes v from theta, rid of the rounding of its changes.
    virtual void refresh() = 0;
    virtual std::vector<double> theta() const = 0;
    virtual std::vector<double> variables() const = 0;  // v
};

template <class Loss, class M>
class DualDescentOn final : public DualDescent {
   public:
    DualDescentOn(const Loss& loss, const M& matrix, const double* y, const double* weights, const double* theta,
                  double alpha, double constant, double threshold, double offset, std::uint64_t seed)
        : iterate_(loss, matrix, alpha, constant, threshold, offset), random_(seed) {
        for (std::size_t i = 0; i < iterate_.n; ++i) {
            const double square = constant * constant + matrix.square(i);
            Row& row = iterate_.rows[i] = {theta[i], y[i], weights[i], alpha / (weights[i] * square)};
            if (weights[i] * square > 0.0 && std::isfinite(row.step)) {
                active_.push_back(i);
            } else {  // its prediction is 0 whatever v is
                row.theta = dual_prox(loss, y[i], theta[i], 0.0, 1e300);
            }
        }
        refresh();
    }

    std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) override {
        target_ = std::max(std::min(target_, target), 0.25 * target);
        double visits = 0.0;
        int epochs = 0;
        while (epochs < max_epochs && visits < max_visits) {
            visits += static_cast<double>(active_.size());
            ++epochs;
            const double estimate = epoch();
            if (last_gap_ < 0.0) last_gap_ = estimate;
            if (estimate > std::max(target_, look_at * last_gap_) && active_.size() > 0) continue;
            const std::size_t before = active_.size();
            last_gap_ = gap_and_wake(visits);
            if (last_gap_ <= target) return {epochs, visits, last_gap_};
            if (estimate > target_) continue;
            // an estimate that sees all that moves was too good: ask for more
            if (active_.size() == before) target_ = std::max(0.25 * target, 0.7 * target_);
            // rows were left out too soon
            else patience_ = std::min(2.0 * patience_, 16.0);
        }
        return {epochs, visits, std::numeric_limits<double>::infinity()};
    }

    double recentre() override {
        double sum = 0.0;
        for (const Row& row : iterate_.rows) sum += row.weight * row.theta;
        double& intercept = iterate_.v[iterate_.d];
        iterate_.offset = intercept;
        intercept -= iterate_.constant / iterate_.alpha * sum;
        subspace_.forget();
        wake([](std::size_t) { return true; });
        return sum;
    }

    void refresh() override {
        std::vector<double>& v = iterate_.v;
        std::fill(v.begin(), v.end(), 0.0);
        v[iterate_.d] = iterate_.offset;
        for (const std::uint32_t i : active_.all())
            if (iterate_.rows[i].theta != 0.0) iterate_.add(i, iterate_.rows[i].theta, v.data());
        subspace_.forget();
    }

    std::vector<double> theta() const override {
        std::vector<double> out(iterate_.n);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = iterate_.rows[i].theta;
        return out;
    }
    std::vector<double> variables() const override { return iterate_.v; }

   private:
    static constexpr std::size_t block = 4;  // rows that are visited in order
    static constexpr double look_at = 1e-3;  // share of the last gap at which to look at all rows again

    using Row = DualDescentRow;

    // Sums over the rows that an epoch has visited
    struct Seen {
        double estimate = 0.0;           // the sum of the slacks in Fenchel's inequality
        double largest_violation = 0.0;  // the largest |change of theta_i| / step_i
    };

    // One pass over the active rows. Returns the sum of their slacks in Fenchel's inequality, each
    // at the time of its visit, which is the gap when v hardly changes.
    double epoch() {
        const bool accelerates = near_its_end();
        if (accelerates) subspace_.begin_move(iterate_, active_);
        const std::size_t n_blocks = (active_.size() + block - 1) / block;
        blocks_.resize(n_blocks);
        std::iota(blocks_.begin(), blocks_.end(), 0u);
        active_.begin_epoch();
        Seen seen;
        const double slack = patience_ * largest_violation_;
        for (std::size_t k = 0; k < n_blocks; ++k) {
            std::swap(blocks_[k], blocks_[k + random_.below(n_blocks - k)]);
            const std::size_t first = blocks_[k] * block, last = std::min(first + block, active_.size());
            for (std::size_t place = first; place < last; ++place) visit(place, slack, seen);
        }
        largest_violation_ = seen.largest_violation;
        if (first_estimate_ < 0.0) first_estimate_ = seen.estimate;
        last_estimate_ = seen.estimate;
        if constexpr (Loss::quadratic_pieces) {
            if (accelerates) subspace_.end_move(iterate_, active_);
        }
        active_.shrink();
        return seen.estimate;
    }

    // Moves theta_i to where the dual is largest along it. A row that does not move, nor would if its
    // prediction changed by the slack, is to be left out.
    void visit(std::size_t place, double slack, Seen& seen) {
        const std::size_t i = active_[place];
        Row& row = iterate_.rows[i];
        const double z = iterate_.predict(i);
        seen.estimate += row.weight * iterate_.fenchel_young(row, z);
        const double next = dual_prox(iterate_.loss, row.y, row.theta, z, row.step), change = next - row.theta;
        if (change == 0.0) {
            if (slack > 0.0 && std::isfinite(slack) && iterate_.rests(row, z - slack) && iterate_.rests(row, z + slack))
                active_.rest(place);
            return;
        }
        row.theta = next;
        seen.largest_violation = std::max(seen.largest_violation, std::fabs(change) / row.step);
        iterate_.add(i, change, iterate_.v.data());
    }

    // Whether the gap has fallen so far that the faces of the dual, if it has any, hardly change.
    bool near_its_end() {
        if (!Loss::quadratic_pieces || iterate_.threshold > 0.0) return false;
        accelerating_ |= first_estimate_ >= 0.0 && last_estimate_ <= 0.01 * first_estimate_;
        return accelerating_;
    }

    template <class Awake>
    void wake(Awake awake) {
        if (active_.wake(awake)) largest_violation_ = std::numeric_limits<double>::infinity();
    }

    // The gap by its definition. Wakes the rows left out that would move after all. A row that rests has
    // no part in the gap, and the last predictions show of most that they do.
    double gap_and_wake(double& visits) {
        predictions_.find_moving(iterate_, would_move_);
        double gap = 0.0;
        for (std::size_t i = 0; i < iterate_.n; ++i) {
            if (!would_move_[i]) continue;
            const Row& row = iterate_.rows[i];
            const double z = iterate_.predict(i);
            predictions_.set(i, z);
            visits += 1.0;
            gap += row.weight * iterate_.fenchel_young(row, z);
            would_move_[i] = !iterate_.rests(row, z);
        }
        wake([&](std::size_t i) { return would_move_[i] != 0; });
        return std::max(gap, 0.0);
    }

    DualIterate<Loss, M> iterate_;
    ActiveRows active_;
    MoveSubspace<Loss, M> subspace_;
    SeenPredictions predictions_;
    Xorshift random_;
    std::vector<std::uint32_t> blocks_;
    std::vector<unsigned char> would_move_;
    double largest_violation_ = std::numeric_limits<double>::infinity();  // of the last epoch
    double patience_ = 0.7;  // times the largest violation is the slack of rows to be left out
    double target_ = std::numeric_limits<double>::infinity();  // of the estimates of the gap
    double last_gap_ = -1.0, first_estimate_ = -1.0, last_estimate_ = 0.0;  // negative: not known
    bool accelerating_ = false;
};

}  // namespace skpd
