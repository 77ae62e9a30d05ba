// The last predictions of the rows that a dual coordinate descent has computed, and which rows they
// show to rest still: with c_i ||(x_i, s)||^2 = alpha / step_i, a prediction has changed by at most
// ||(x_i, s)|| times the length of the way that v has gone since.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "maths/losses.hpp"

namespace skpd {

struct DualDescentRow {
    double theta, y, weight, step;  // step = alpha / (c_i ||(x_i, s)||^2)
};

// Marks the rows whose dual variables may change, if the prediction of each differs from z by at
// most norm (way - way_seen).
template <class Loss>
SKPD_CLONES void may_move(const Loss& loss, std::size_t n, const DualDescentRow* rows, const double* z,
                          const double* way_seen, const double* norms, double way, unsigned char* moves) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const auto [theta, y, weight, step] = rows[i];
        const double reach = norms[i] * (way - way_seen[i]);
        const double below = dual_prox(local, y, theta, z[i] - reach, step);
        const double above = dual_prox(local, y, theta, z[i] + reach, step);
        moves[i] = !(below == theta) | !(above == theta);
    }
}

class SeenPredictions {
   public:
    // Writes which rows may move now: all of them for a loss without kinks to rest at.
    template <class Loss>
    void find_moving(const Loss& loss, const std::vector<DualDescentRow>& rows, double alpha,
                     const std::vector<double>& v, std::vector<unsigned char>& moves) {
        begin(rows, v);
        double square = 0.0;
        for (std::size_t j = 0; j < v.size(); ++j) square += (v[j] - v_[j]) * (v[j] - v_[j]);
        v_ = v;
        way_ += std::sqrt(alpha * square);
        moves.assign(rows.size(), 1);
        if constexpr (Loss::quadratic_pieces)
            may_move(loss, rows.size(), rows.data(), z_.data(), way_seen_.data(), norms_.data(), way_, moves.data());
    }
    void set(std::size_t i, double z) {
        z_[i] = z;
        way_seen_[i] = way_;
    }

   private:
    void begin(const std::vector<DualDescentRow>& rows, const std::vector<double>& v) {
        if (!v_.empty()) return;
        const std::size_t n = rows.size();
        norms_.resize(n);
        for (std::size_t i = 0; i < n; ++i) norms_[i] = 1.0 / std::sqrt(rows[i].weight * rows[i].step);
        z_.assign(n, 0.0);
        way_seen_.assign(n, -std::numeric_limits<double>::infinity());
        v_ = v;
    }

    std::vector<double> norms_;         // ||(x_i, s)|| / alpha^(1/2)
    std::vector<double> z_, way_seen_;  // the prediction of a row, and way_ when it was computed
    std::vector<double> v_;             // at the last look
    double way_ = 0.0;                  // alpha^(1/2) times the length of the way that v has gone
};

}  // namespace skpd
