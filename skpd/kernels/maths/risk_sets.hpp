// log S and the terms of the partial likelihood of Cox for censored times, by running sums over risk sets; scores z
// (n).
//
// Rows are in the order of strata and of times within them. A group consists of all rows of a stratum with the same
// time, and its risk set of these and all later rows of the stratum. A group with d events of weights c_i, and C their
// sum, has the terms
//
//   Breslow   C log S,    S = sum over the risk set of s_j e^(z_j)
//   Efron     C / d log(S - l / d T),  l = 0 ... d - 1,    T = sum over the events of s_j e^(z_j)
#pragma once

#include <algorithm>
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
    bool empty() const { return empty_; }
    double shift() const { return shift_; }
    double value() const { return sum_.high + sum_.low; }

    void add(double weight, double exponent) {
        if (empty_) {
            empty_ = false;
            shift_ = exponent;
        } else if (exponent > shift_ + range) {  // a shift is rare, since each one rounds the sum
            const double factor = std::exp(shift_ - exponent);
            sum_.high *= factor;
            sum_.low *= factor;
            shift_ = exponent;
        }
        sum_.add(weight * std::exp(exponent - shift_));
    }

   private:
    static constexpr double range = 200.0;  // sums of e^200 do not overflow
    Compensated sum_;
    double shift_ = 0.0;
    bool empty_ = true;
};

class RiskSets {
   public:
    // starts (n_groups + 1) has the first row of each group, followed by the number of rows; last (n_groups) says
    // whether a group is the last of its stratum; log_weights and event_weights (n) are log s_i and c_i.
    RiskSets(std::vector<std::size_t> starts, std::vector<std::uint8_t> last, std::vector<double> log_weights,
             std::vector<double> event_weights, bool efron)
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
        }
    }

    std::size_t n_rows() const { return log_weights_.size(); }
    std::size_t n_terms() const { return first_term_.back(); }
    std::size_t max_terms() const { return max_terms_; }

    // out_l = the logarithm of the sum in term l; z (n), out (n_terms). Returns sum_l weight_l out_l, and the sum of
    // its magnitudes.
    Compensated log_sums(const double* z, double* out) const {
        ExponentialSum sum;
        Compensated weighted;
        for (std::size_t g = n_groups(); g-- > 0;) {
            if (last_[g]) sum = {};
            for (std::size_t i = starts_[g]; i < starts_[g + 1]; ++i) sum.add(1.0, log_weights_[i] + z[i]);
            const std::size_t terms = terms_of(g);
            if (terms == 0) continue;
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
                out[i] = inverses.empty() ? 0.0 : std::exp(log_weights_[i] + z[i] + inverses.shift()) * inverse_sum;
            }
        }
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
    std::vector<std::size_t> first_term_;
    std::size_t max_terms_ = 0;
};

}  // namespace skpd
