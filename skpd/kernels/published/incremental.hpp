// Incremental methods for the distributionally robust SVM (Li, Chen and So, 2020): projected subgradients of
// mini-batches (5) and the proximal point method (6), which visits one row at a time. The objective is the mean over
// the n rows with a weight of
//
//   f_i = epsilon lam + n c_i h_i + ridge ||w||^2 / 2,
//   h_i = max(1 - m_i, 1 + m_i - kappa lam, 0),    m_i = y_i (x_i . w + b),
//
// subject to ||w||_q <= lam; w (d), and multipliers p and r (n) of the first two pieces of h_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "data/products.hpp"
#include "published/robust_svm_prox.hpp"

namespace skpd {

struct RobustSettings {
    double epsilon, kappa, ridge;
    bool fit_intercept;
};

class Incremental {
   public:
    virtual ~Incremental() = default;
    // Each makes one pass over these n rows with this step size.
    virtual void subgradient_pass(const std::int64_t* rows, std::size_t n, double step, std::size_t batch) = 0;
    virtual void proximal_pass(const std::int64_t* rows, std::size_t n, double step) = 0;

    std::vector<double> w, p, r;
    double radius = 0.0, intercept = 0.0;
};

// The methods for the epigraph of one norm; the weights are multiplied by the number of rows with a weight.
template <class Epigraph>
class IncrementalOn : public Incremental {
   public:
    IncrementalOn(const MajorVectors& matrix, const double* y, const double* weights, const RobustSettings& settings)
        : matrix_(matrix), settings_(settings), y_(y, y + matrix.n_major), weights_(weights, weights + matrix.n_major),
          squares_(matrix.n_major, 0.0), trial_(matrix.n_minor), best_(matrix.n_minor) {
        w.assign(matrix.n_minor, 0.0);
        p.assign(matrix.n_major, 0.0);
        r.assign(matrix.n_major, 0.0);
        const auto counted = std::count_if(weights_.begin(), weights_.end(), [](double c) { return c > 0.0; });
        for (double& weight : weights_) weight *= static_cast<double>(counted);
        if constexpr (std::is_same_v<Epigraph, L2Epigraph>)
            for (std::size_t i = 0; i < matrix.n_major; ++i)
                matrix.for_each(i, [&](std::size_t, double x) { squares_[i] += x * x; });
    }

    void subgradient_pass(const std::int64_t* rows, std::size_t n, double step, std::size_t batch) override {
        const std::size_t d = matrix_.n_minor;
        for (std::size_t first = 0; first < n; first += batch) {
            const std::size_t size = std::min(batch, n - first);
            const double share = step / static_cast<double>(size);
            std::fill(trial_.begin(), trial_.end(), 0.0);
            double total = 0.0, flipped = 0.0;
            for (std::size_t k = first; k < first + size; ++k) {
                const auto i = static_cast<std::size_t>(rows[k]);
                const double m = y_[i] * (matrix_.dot(i, w.data()) + intercept);
                const double other = std::isfinite(settings_.kappa) ? 1.0 + m - settings_.kappa * radius : 0.0;
                // If two pieces are equal the first one counts, which moves towards the label: at w = 0 both are 1.
                p[i] = 1.0 - m > 0.0 && 1.0 - m >= other ? 1.0 : 0.0;
                r[i] = other > 0.0 && p[i] == 0.0 ? 1.0 : 0.0;
                const double slope = (p[i] - r[i]) * y_[i] * weights_[i];
                if (slope != 0.0) matrix_.axpy(i, share * slope, trial_.data());
                total += slope;
                flipped += r[i] * weights_[i];
            }
            const double shrink = 1.0 - step * settings_.ridge;
            for (std::size_t j = 0; j < d; ++j) w[j] = shrink * w[j] + trial_[j];
            if (settings_.fit_intercept) intercept += share * total;
            double s = radius - step * settings_.epsilon;
            if (flipped > 0.0) s += share * settings_.kappa * flipped;
            radius = Epigraph::project(w.data(), d, s, 1.0, work_);
        }
    }

    void proximal_pass(const std::int64_t* rows, std::size_t n, double step) override {
        // With a ridge the update is that of a problem in (w, lam / scale, b / scale), by (28).
        const double scale = std::sqrt(1.0 + step * settings_.ridge), inverse = 1.0 / (scale * scale);
        for (std::size_t k = 0; k < n; ++k) {
            const auto i = static_cast<std::size_t>(rows[k]);
            if (weights_[i] == 0.0) continue;
            if (inverse != 1.0)
                for (double& x : w) x *= inverse;
            const ProxRow row{step * weights_[i] * inverse, settings_.kappa * scale,
                              scale, (radius - step * settings_.epsilon) / scale, intercept / scale,
                              settings_.fit_intercept ? y_[i] * scale : 0.0};
            update(i, row);
            radius *= scale;
            intercept *= scale;
        }
    }

   private:
    void update(std::size_t i, const ProxRow& row) {
        ProxResult multipliers;
        if constexpr (std::is_same_v<Epigraph, L2Epigraph>) {
            double A = 0.0;
            for (const double x : w) A += x * x;
            PlaneTrial trial{A, squares_[i], y_[i] * matrix_.dot(i, w.data()), row};
            multipliers = prox_cases(trial, row, {p[i], r[i]});
            if (trial.best_shift != 0.0) matrix_.axpy(i, trial.best_shift * y_[i], w.data());
            if (trial.best_factor != 1.0)
                for (double& x : w) x *= trial.best_factor;
            radius = trial.best_lam;
            intercept = trial.best_b;
        } else {
            VectorTrial<Epigraph, MajorVectors> trial{matrix_, i, matrix_.n_minor, y_[i], row, w.data(), trial_, best_, work_};
            multipliers = prox_cases(trial, row, {p[i], r[i]});
            w.swap(best_);
            radius = trial.best_lam;
            intercept = trial.best_b;
        }
        p[i] = multipliers.p;
        r[i] = multipliers.r;
    }

    const MajorVectors matrix_;
    RobustSettings settings_;
    std::vector<double> y_, weights_, squares_, trial_, best_, work_;
};

}  // namespace skpd
