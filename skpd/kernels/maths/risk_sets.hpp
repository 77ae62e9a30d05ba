// log S and the terms of the partial likelihood of Cox for censored times, by running sums over risk sets; scores z
// (n).
//
// Rows are in the order of strata and of times within them. A group consists of all rows of a stratum with the same
// time, and its risk set of these and all later rows of the stratum. A group with d events of weights c_i, and C their
// sum, has the terms
//
//   Breslow   C log S,    S = sum over the risk set of s_j e^(z_j)
//   Efron     C / d log(S - l / d T),  l = 0 ... d - 1,    T = sum over the events of s_j e^(z_j)
//
// A row that enters late is at risk at some of the groups with events, from the first up to the last. Differences of
// running sums would cancel. Instead, the highest bit in which the numbers of these two groups differ is that of halves
// of a block of groups: the row is in the sums from the first group to the end of one half, and from the beginning of
// the other half to the last group. All late rows with the same bit take one pass over the groups.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "data/compensated.hpp"

namespace skpd {

// A sum sum_j weight_j e^(exponent_j) = e^shift (high + low), as accurate as in twice the working precision
class ExponentialSum {
   public:
    bool empty() const { return shift_ == -std::numeric_limits<double>::infinity(); }
    double shift() const { return shift_; }
    double value() const { return sum_.high + sum_.low; }

    void add(double weight, double exponent) {
        if (!(exponent <= shift_ + range)) move_to(range * std::nearbyint(exponent / range));
        sum_.add(weight * std::exp(exponent - shift_));
    }

    void add(const ExponentialSum& other) {
        if (other.shift_ > shift_) move_to(other.shift_);
        if (other.shift_ == shift_) return sum_.add(other.sum_);  // nearly always
        if (other.empty()) return;
        const double factor = std::exp(other.shift_ - shift_);
        sum_.add(Compensated{factor * other.sum_.high, factor * other.sum_.low});
    }

   private:
    // Sums of e^256 do not overflow. Shifts are multiples of this power of 2, and so are their differences.
    static constexpr double range = 256.0;

    void move_to(double shift) {  // rare, since it rounds the sum
        const double factor = std::exp(shift_ - shift);
        sum_.high *= factor;
        sum_.low *= factor;
        shift_ = shift;
    }

    Compensated sum_;
    double shift_ = -std::numeric_limits<double>::infinity();  // without a term
};

class RiskSets {
   public:
    // starts (n_groups + 1) has the first row of each group, followed by the number of rows; last (n_groups) says
    // whether a group is the last of its stratum; log_weights and event_weights (n) are log s_i and c_i; entries (n, or
    // 0 where no row enters late) has the first group of the stratum at which a row is at risk.
    RiskSets(std::vector<std::size_t> starts, std::vector<std::uint8_t> last, std::vector<double> log_weights,
             std::vector<double> event_weights, const std::vector<std::size_t>& entries, bool efron)
        : starts_(std::move(starts)), last_(std::move(last)), log_weights_(std::move(log_weights)),
          event_weights_(std::move(event_weights)), efron_(efron), first_term_(1, 0) {
        for (std::size_t g = 0; g + 1 < starts_.size(); ++g) {
            double total = 0.0;
            std::size_t count = 0;
            for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i) {
                total += event_weights_[i];
                count += event_weights_[i] > 0.0;
            }
            const std::size_t terms = count == 0 ? 0 : efron ? count : 1;
            totals_.push_back(total);
            first_term_.push_back(first_term_.back() + terms);
            max_terms_ = std::max(max_terms_, terms);
            places_.push_back(n_places_);
            n_places_ += terms > 0;
        }
        is_late_.resize(n_rows(), 0);
        for (std::size_t g = 0, start = 0; g < n_groups() && !entries.empty(); ++g) {
            if (g > 0 && last_[g - 1]) start = places_[g];  // of the stratum
            for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i) {
                const std::size_t first = places_[entries[i]], end = places_[g] + (terms_of(g) > 0);
                is_late_[i] = first > start;
                if (is_late_[i] && first < end) late_.push_back({i, first, end - 1, std::bit_floor(first ^ (end - 1))});
            }
        }
        std::stable_sort(late_.begin(), late_.end(), [](const Late& a, const Late& b) { return a.half < b.half; });
    }

    std::size_t n_rows() const { return log_weights_.size(); }
    std::size_t n_terms() const { return first_term_.back(); }
    std::size_t max_terms() const { return max_terms_; }

    // out_l = the logarithm of the sum in term l; z (n), out (n_terms). Returns sum_l weight_l out_l, and the sum of
    // its magnitudes.
    Compensated log_sums(const double* z, double* out) const {
        const std::vector<ExponentialSum> late = sums_of_late_rows(z);
        ExponentialSum from_start;
        Compensated weighted;
        for (std::size_t g = n_groups(); g-- > 0;) {
            if (last_[g]) from_start = {};
            for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i)
                if (!is_late_[i]) from_start.add(1.0, log_weights_[i] + z[i]);
            const std::size_t terms = terms_of(g);
            if (terms == 0) continue;
            ExponentialSum sum = from_start;
            if (!late.empty()) sum.add(late[places_[g]]);
            Compensated tied;
            for (std::size_t i = starts_[g]; terms > 1 && i < starts_[g + 1]; ++i)
                if (event_weights_[i] > 0.0) tied.add(std::exp(log_weights_[i] + z[i] - sum.shift()));
            for (std::size_t l = 0; l < terms; ++l) {
                const double left = sum.value() - share_of(l, terms) * (tied.high + tied.low);
                const double log_sum = sum.shift() + std::log(left);
                out[first_term_[g] + l] = log_sum;
                weighted.add_product(weight_of(g), log_sum);
            }
        }
        return weighted;
    }

    // out_i = sum over the terms of weight times the probability of row i; z and out (n), log_sums (n_terms).
    void marginals(const double* z, const double* log_sums, double* out) const {
        ExponentialSum inverses;
        for (std::size_t g = 0; g < n_groups(); ++g) {
            if (g == 0 || last_[g - 1]) inverses = {};
            const std::size_t terms = terms_of(g);
            for (std::size_t l = 0; l < terms; ++l) inverses.add(weight_of(g), -log_sums[first_term_[g] + l]);
            double tied = 0.0;  // the part of the sums that the events of this group do not have
            for (std::size_t l = 1; l < terms; ++l)
                tied += weight_of(g) * share_of(l, terms) * std::exp(-log_sums[first_term_[g] + l] - inverses.shift());
            for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i) {
                const double inverse_sum = inverses.value() - (event_weights_[i] > 0.0 ? tied : 0.0);
                out[i] = inverses.empty() || is_late_[i]
                             ? 0.0
                             : std::exp(log_weights_[i] + z[i] + inverses.shift()) * inverse_sum;
            }
        }
        if (!late_.empty()) late_marginals(z, log_sums, out);
    }

    // The sum over the terms of weight times H(scale p + (1 - scale) q) - H(scale p), restricted to the entries of the
    // events, with H the entropy relative to s, p the probabilities of a term and q = c / C its events; z (n), log_sums
    // (n_terms).
    Compensated entropy_of_events(const double* z, const double* log_sums, double scale) const {
        Compensated sum;
        const double log_scale = scale > 0.0 ? std::log(scale) : 0.0;
        for (std::size_t g = 0; g < n_groups(); ++g) {
            const std::size_t terms = terms_of(g);
            for (std::size_t l = 0; l < terms; ++l) {
                const double log_sum = log_sums[first_term_[g] + l], kept = std::log1p(-share_of(l, terms));
                for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i) {
                    if (event_weights_[i] == 0.0) continue;
                    const double log_s = log_weights_[i] + kept, log_ratio = z[i] - log_sum;
                    const double p = scale * std::exp(log_s + log_ratio);
                    const double mixed = p + (1.0 - scale) * (event_weights_[i] / totals_[g]);
                    if (p > 0.0) sum.add(weight_of(g) * p * (log_scale + log_ratio));
                    if (mixed > 0.0) sum.add(-weight_of(g) * mixed * (std::log(mixed) - log_s));
                }
            }
        }
        return sum;
    }

   private:
    // A row that enters late, its first and last group with events, and the size of the halves that they are in; 0 for
    // the same group
    struct Late {
        std::size_t row, first, last, half;
    };

    // Calls visit(first, middle, end) for the blocks of groups with halves of a size.
    template <class Visit>
    void visit_blocks(std::size_t half, Visit visit) const {
        for (std::size_t first = 0; half > 0 && first < n_places_; first += 2 * half) {
            const std::size_t middle = std::min(first + half, n_places_);
            visit(first, middle, std::min(middle + half, n_places_));
        }
    }

    // The part of late rows in the sums of all groups with events
    std::vector<ExponentialSum> sums_of_late_rows(const double* z) const {
        std::vector<ExponentialSum> sums(late_.empty() ? 0 : n_places_), ends;
        for (auto late = late_.begin(); late != late_.end();) {
            const std::size_t half = late->half;
            ends.assign(n_places_, {});
            for (; late != late_.end() && late->half == half; ++late) {
                const double exponent = log_weights_[late->row] + z[late->row];
                (half > 0 ? ends : sums)[late->first].add(1.0, exponent);
                if (half > 0) ends[late->last].add(1.0, exponent);
            }
            visit_blocks(half, [&](std::size_t first, std::size_t middle, std::size_t end) {
                ExponentialSum left, right;
                for (std::size_t g = first; g < middle; ++g) left.add(ends[g]), sums[g].add(left);
                for (std::size_t g = end; g-- > middle;) right.add(ends[g]), sums[g].add(right);
            });
        }
        return sums;
    }

    void late_marginals(const double* z, const double* log_sums, double* out) const {
        std::vector<ExponentialSum> inverses(n_places_), tied(n_places_), sums(n_places_);
        for (std::size_t g = 0; g < n_groups(); ++g) {
            for (std::size_t l = 0, terms = terms_of(g); l < terms; ++l) {
                const double exponent = -log_sums[first_term_[g] + l];
                inverses[places_[g]].add(weight_of(g), exponent);
                if (l > 0) tied[places_[g]].add(-weight_of(g) * share_of(l, terms), exponent);
            }
        }
        for (auto late = late_.begin(); late != late_.end();) {
            const std::size_t half = late->half;
            visit_blocks(half, [&](std::size_t first, std::size_t middle, std::size_t end) {
                ExponentialSum left, right;
                for (std::size_t g = middle; g-- > first;) left.add(inverses[g]), sums[g] = left;
                for (std::size_t g = middle; g < end; ++g) right.add(inverses[g]), sums[g] = right;
            });
            for (; late != late_.end() && late->half == half; ++late) {
                const std::size_t i = late->row;
                ExponentialSum sum = (half > 0 ? sums : inverses)[late->first];
                if (half > 0) sum.add(sums[late->last]);
                if (event_weights_[i] > 0.0) sum.add(tied[late->last]);
                out[i] = std::exp(log_weights_[i] + z[i] + sum.shift()) * sum.value();
            }
        }
    }

    std::size_t n_groups() const { return starts_.size() - 1; }
    std::size_t terms_of(std::size_t g) const { return first_term_[g + 1] - first_term_[g]; }
    double weight_of(std::size_t g) const { return totals_[g] / static_cast<double>(terms_of(g)); }
    static double share_of(std::size_t l, std::size_t terms) {
        return static_cast<double>(l) / static_cast<double>(terms);
    }

    std::vector<std::size_t> starts_;
    std::vector<std::uint8_t> last_;
    std::vector<double> log_weights_, event_weights_, totals_;
    bool efron_;
    std::vector<std::size_t> first_term_, places_;  // places are numbers of groups with events
    std::vector<Late> late_;
    std::vector<std::uint8_t> is_late_;
    std::size_t n_places_ = 0;
    std::size_t max_terms_ = 0;
};

}  // namespace skpd
