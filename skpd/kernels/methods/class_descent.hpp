// Dual descent over the rows for the loss of Crammer and Singer and the squared l2 norm (Keerthi, Sundararajan,
// Chang, Hsieh and Lin, 2008): the dual is maximised in the point of the simplex of one row after the other.
//
// Beside the published method: that problem is solved exactly, by projection; rows come in blocks of
// neighbours, which the cache likes; the gap is estimated from the scores that an epoch sees anyway; and the
// dual is maximised at once in the subspace of the moves of the last epochs (`ClassMoves`).
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
#include "methods/class_iterate.hpp"
#include "methods/class_moves.hpp"

namespace skpd {

// The interface of the descent for all layouts.
struct ClassDescent {
    virtual ~ClassDescent() = default;
    // Runs epochs until the gap is at most the target, with limits on epochs and visits of rows.
    // Returns the numbers of both and the gap (inf while unknown).
    virtual std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) = 0;
    // Recomputes W from p, which removes accumulated rounding errors.
    virtual void refresh() = 0;
    virtual std::vector<double> theta() const = 0;
};

template <class M>
class ClassDescentOn final : public ClassDescent {
   public:
    // y holds a 1 for the class of each row, theta the dual point to start from.
    ClassDescentOn(const M& matrix, const double* y, std::size_t n_classes, const double* weights,
                   const double* theta, double alpha, std::uint64_t seed)
        : iterate_(matrix, n_classes, alpha), random_(seed), G_(iterate_.stride), change_(iterate_.stride) {
        for (std::size_t i = 0; i < iterate_.n; ++i) {
            const double* labels = y + i * n_classes;
            const auto own = static_cast<std::uint32_t>(std::max_element(labels, labels + n_classes) - labels);
            const double square = matrix.square(i), step = alpha / (weights[i] * square);
            iterate_.rows[i] = {weights[i], step, own, several};
            begin_at(i, theta + i * n_classes);
            if (weights[i] * square > 0.0 && std::isfinite(step)) {
                active_.push_back(i);
            } else if (weights[i] > 0.0) {  // all scores are 0 whatever W is: some other class is 1 ahead
                double* point = iterate_.point(i);
                std::fill_n(point, n_classes, 0.0);
                point[own == 0 && n_classes > 1 ? 1 : 0] = 1.0;
            }
            iterate_.note(i);
        }
        refresh();
    }

    std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) override {
        target_ = std::max(std::min(target_, target), 0.25 * target);
        const auto n = static_cast<double>(iterate_.n);
        double visits = 0.0;
        int epochs = 0;
        while (epochs < max_epochs && visits < max_visits) {
            visits += static_cast<double>(active_.size());
            since_look_ += static_cast<double>(active_.size());
            ++epochs;
            const double estimate = epoch();
            if (last_gap_ < 0.0) last_gap_ = estimate;
            const bool is_small = estimate <= std::max(target_, look_at * last_gap_) || active_.size() == 0;
            if (!is_small && since_look_ < look_after * n) continue;
            const std::size_t before = active_.size();
            last_gap_ = gap_and_wake();
            visits += n;
            since_look_ = 0.0;
            if (last_gap_ <= target) return {epochs, visits, last_gap_};
            // rows were left out too soon
            if (active_.size() > before && last_gap_ > misled * estimate) patience_ = std::min(2.0 * patience_, 16.0);
            // an estimate that sees all that moves was too good: ask for more
            if (active_.size() == before && estimate <= target_) target_ = std::max(0.25 * target, 0.7 * target_);
        }
        return {epochs, visits, std::numeric_limits<double>::infinity()};
    }

    void refresh() override {
        iterate_.refresh();
        moves_.forget();
    }

    std::vector<double> theta() const override {
        const std::size_t n_classes = iterate_.n_classes;
        std::vector<double> out(iterate_.n * n_classes);
        for (std::size_t i = 0; i < iterate_.n; ++i) {
            std::copy_n(iterate_.point(i), n_classes, out.data() + i * n_classes);
            out[i * n_classes + iterate_.rows[i].own] -= 1.0;
        }
        return out;
    }

   private:
    static constexpr std::size_t block = 4;  // rows that are visited in order
    static constexpr double look_at = 1e-3;  // share of the last gap at which to look at all rows again

    static constexpr double look_after = 10.0;  // passes over all rows after which to look in any case
    static constexpr double misled = 2.0;  // times the estimate is a gap that rows left out have a good part of

    // Sums over the rows that an epoch has visited
    struct Seen {
        double estimate = 0.0;           // the sum of the slacks in Fenchel's inequality
        double largest_violation = 0.0;  // the largest |change of p_ik| / step_i
    };

    void begin_at(std::size_t i, const double* theta) {
        double* point = iterate_.point(i);
        const std::uint32_t own = iterate_.rows[i].own;
        double others = 0.0;
        for (std::size_t k = 0; k < iterate_.n_classes; ++k) {
            point[k] = std::max(theta[k], 0.0);
            others += k == own ? 0.0 : point[k];
        }
        point[own] = std::max(1.0 - others, 0.0);
    }

    // One pass over the active rows. Returns the sum of what they lack in Fenchel's inequality, each at the
    // time of its visit: the gap, once W hardly moves.
    double epoch() {
        accelerating_ |= first_estimate_ >= 0.0 && last_estimate_ <= 0.01 * first_estimate_;
        if (accelerating_) moves_.begin_move(iterate_, active_);
        const std::size_t n_blocks = (active_.size() + block - 1) / block;
        blocks_.resize(n_blocks);
        std::iota(blocks_.begin(), blocks_.end(), 0u);
        active_.begin_epoch();
        Seen seen;
        const double slack = 2.0 * patience_ * largest_violation_;
        for (std::size_t k = 0; k < n_blocks; ++k) {
            std::swap(blocks_[k], blocks_[k + random_.below(n_blocks - k)]);
            const std::size_t first = blocks_[k] * block, last = std::min(first + block, active_.size());
            for (std::size_t place = first; place < last; ++place) visit(place, slack, seen);
        }
        if (first_estimate_ < 0.0) first_estimate_ = seen.estimate;
        last_estimate_ = seen.estimate;
        largest_violation_ = seen.largest_violation;
        if (accelerating_)
            largest_violation_ = std::max(largest_violation_, moves_.end_move(iterate_, active_));
        active_.shrink();
        return seen.estimate;
    }

    // Moves p_i to where the dual is largest along it. A row that does not move, nor would if the difference
    // of its scores changed by the slack, is to be left out.
    void visit(std::size_t place, double slack, Seen& seen) {
        const std::size_t i = active_[place];
        iterate_.rivals(i, G_.data());
        const double lead = iterate_.lead(i, G_.data());
        if (lead >= 0.0) {
            if (lead > slack) active_.rest(place);
            return;
        }
        const ClassRow& row = iterate_.rows[i];
        const auto [largest, lacks] = iterate_.move(i, G_.data(), change_.data());
        seen.estimate += row.weight * lacks;
        if (largest == 0.0) return;
        seen.largest_violation = std::max(seen.largest_violation, largest / row.step);
        iterate_.add(i, change_.data(), iterate_.W.data());
    }

    // The gap by its definition. Wakes the rows left out that would move after all.
    double gap_and_wake() {
        would_move_.assign(iterate_.n, 0);
        double gap = 0.0;
        for (const std::uint32_t i : active_.all()) {
            iterate_.rivals(i, G_.data());
            would_move_[i] = iterate_.lead(i, G_.data()) < 0.0;
            if (would_move_[i]) gap += iterate_.rows[i].weight * iterate_.lacks(i, G_.data());
        }
        if (active_.wake([&](std::size_t i) { return would_move_[i] != 0; }))
            largest_violation_ = std::numeric_limits<double>::infinity();
        return gap;
    }

    ClassIterate<M> iterate_;
    ActiveRows active_;
    ClassMoves<M> moves_;
    Xorshift random_;
    Numbers G_, change_;
    std::vector<std::uint32_t> blocks_;
    std::vector<unsigned char> would_move_;
    double largest_violation_ = std::numeric_limits<double>::infinity();  // of the last epoch
    double patience_ = 0.7;  // times the largest violation is the slack of a score of rows to be left out
    double target_ = std::numeric_limits<double>::infinity();  // of the estimates of the gap
    double since_look_ = 0.0;  // visits since all rows have been looked at
    double last_gap_ = -1.0, first_estimate_ = -1.0, last_estimate_ = 0.0;  // negative: not known
    bool accelerating_ = false;
};

}  // namespace skpd
