// Dual coordinate descent (Hsieh et al., 2008), which maximises the dual in the variables of one row after the other,
// of
//
//   minimise over v (d + 1)    sum_i c_i l(y_i, z_i) + (alpha / 2) ||v||^2,    z_i = (x_i, s) . v,    i < n,
//
// for a loss of one prediction (`DualIterate`), or of one for each class (`ClassIterate`).
//
// There are three additions to the published method: rows are visited in blocks of neighbours, for the cache; the gap
// is estimated from the predictions of an epoch; and the dual is maximised over the subspace of the moves of the last
// epochs (`MoveSubspace`).
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

#include "maths/random.hpp"
#include "methods/active_rows.hpp"
#include "methods/dual_iterate.hpp"
#include "methods/move_subspace.hpp"

namespace skpd {

// This is the interface of dual coordinate descent for all losses.
struct DualDescent {
    virtual ~DualDescent() = default;
    // Runs epochs until the gap is at most the target, or up to max_epochs epochs or max_visits visits of rows. Returns
    // the numbers of both, and the gap, which is inf if it is not known.
    virtual std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) = 0;
    // Moves the offset to the last entry of v; returns sum_i c_i theta_i.
    virtual double recentre() = 0;
    // Computes v from theta, which removes the rounding errors of its updates.
    virtual void refresh() = 0;
    virtual std::vector<double> theta() const = 0;
    virtual std::vector<double> variables() const = 0;  // v
};

template <class Iterate>
class DualDescentOn final : public DualDescent {
   public:
    DualDescentOn(Iterate iterate, std::uint64_t seed) : iterate_(std::move(iterate)), random_(seed) {
        for (std::size_t i = 0; i < iterate_.n; ++i)
            if (std::isfinite(iterate_.rows[i].step)) active_.push_back(i);
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
            if (estimate > std::max(target_, recheck_share * last_gap_) && active_.size() > 0) continue;
            const std::size_t before = active_.size();
            last_gap_ = gap_and_wake();
            visits += static_cast<double>(iterate_.n);
            if (last_gap_ <= target) return {epochs, visits, last_gap_};
            if (estimate > target_) continue;
            // The estimate covered all rows and was too low, so that the next one must be lower.
            if (active_.size() == before) target_ = std::max(0.25 * target, 0.7 * target_);
            // Rows were left out too soon.
            else patience_ = std::min(2.0 * patience_, 16.0);
        }
        return {epochs, visits, std::numeric_limits<double>::infinity()};
    }

    double recentre() override {
        const double sum = iterate_.recentre();
        subspace_.forget();
        wake([](std::size_t) { return true; });
        return sum;
    }

    void refresh() override {
        iterate_.refresh(active_.all());
        subspace_.forget();
    }

    std::vector<double> theta() const override { return iterate_.theta(); }
    std::vector<double> variables() const override { return {iterate_.v.begin(), iterate_.v.end()}; }

   private:
    static constexpr std::size_t block = 4;  // the number of neighbouring rows that are visited in order
    // All rows are visited again if the estimate is below this share of the last gap.
    static constexpr double recheck_share = 1e-3;

    // Makes one pass over the active rows. Returns the sum of their gaps, each at the time of its visit, which is the
    // gap if v hardly changes.
    double epoch() {
        // The faces of the dual, if it has any, hardly change after the gap has decreased so far.
        const bool near_its_end = first_estimate_ >= 0.0 && last_estimate_ <= 0.01 * first_estimate_;
        accelerating_ |= iterate_.has_faces() && near_its_end;
        if (accelerating_) subspace_.begin_move(iterate_, active_);
        const std::size_t n_blocks = (active_.size() + block - 1) / block;
        blocks_.resize(n_blocks);
        std::iota(blocks_.begin(), blocks_.end(), 0u);
        active_.begin_epoch();
        double estimate = 0.0, largest_violation = 0.0;
        const double slack = patience_ * largest_violation_;
        for (std::size_t k = 0; k < n_blocks; ++k) {
            std::swap(blocks_[k], blocks_[k + random_.below(n_blocks - k)]);
            const std::size_t first = blocks_[k] * block, last = std::min(first + block, active_.size());
            for (std::size_t place = first; place < last; ++place) {
                const Visit visit = iterate_.visit(active_[place], slack);
                estimate += visit.gap;
                largest_violation = std::max(largest_violation, visit.violation);
                if (visit.rests) active_.mark_resting(place);
            }
        }
        largest_violation_ = largest_violation;
        if (first_estimate_ < 0.0) first_estimate_ = estimate;
        last_estimate_ = estimate;
        if constexpr (Iterate::quadratic_pieces)
            if (accelerating_) subspace_.end_move(iterate_, active_);
        active_.shrink();
        return estimate;
    }

    template <class Awake>
    void wake(Awake awake) {
        if (active_.wake(awake)) largest_violation_ = std::numeric_limits<double>::infinity();
    }

    // Computes the gap by its definition, and wakes the rows that were left out and would move.
    double gap_and_wake() {
        would_move_.resize(iterate_.n);
        double gap = 0.0;
        for (std::size_t i = 0; i < iterate_.n; ++i) {
            const Visit visit = iterate_.look(i);
            gap += visit.gap;
            would_move_[i] = !visit.rests;
        }
        wake([&](std::size_t i) { return would_move_[i] != 0; });
        return std::max(gap, 0.0);
    }

    Iterate iterate_;
    ActiveRows active_;
    MoveSubspace<Iterate> subspace_;
    Xorshift random_;
    std::vector<std::uint32_t> blocks_;
    std::vector<unsigned char> would_move_;
    double largest_violation_ = std::numeric_limits<double>::infinity();  // the largest violation of the last epoch
    double patience_ = 0.7;  // patience_ times the largest violation is the slack of rows that are left out
    double target_ = std::numeric_limits<double>::infinity();  // the target for the estimates of the gap
    double last_gap_ = -1.0, first_estimate_ = -1.0, last_estimate_ = 0.0;  // a negative number is not known
    bool accelerating_ = false;
};

}  // namespace skpd
