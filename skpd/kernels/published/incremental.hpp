// Incremental methods for the distributionally robust SVM (Li, Chen and So, 2020): projected subgradients of
// mini-batches (5) and the proximal point method (6), for one row at a time or for the mean of a mini-batch. The
// objective is the mean over the n rows with a weight of
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
#include <limits>
#include <type_traits>
#include <vector>

#include "data/products.hpp"
#include "published/robust_svm_prox.hpp"

namespace skpd {

struct RobustSettings {
    double norm, epsilon, kappa, ridge;
    bool fit_intercept;
};

class Incremental {
   public:
    std::vector<double> w, p, r;
    double radius = 0.0, intercept = 0.0;

    // The weights are multiplied by the number of rows with a weight.
    Incremental(const MajorVectors& matrix, const double* y, const double* weights, const RobustSettings& settings)
        : w(matrix.n_minor, 0.0), p(matrix.n_major, 0.0), r(matrix.n_major, 0.0), matrix_(matrix), settings_(settings),
          y_(y, y + matrix.n_major), weights_(weights, weights + matrix.n_major), squares_(matrix.n_major, 0.0),
          trial_(matrix.n_minor), best_(matrix.n_minor) {
        const auto counted = std::count_if(weights_.begin(), weights_.end(), [](double c) { return c > 0.0; });
        for (double& weight : weights_) weight *= static_cast<double>(counted);
        for (std::size_t i = 0; i < matrix.n_major && settings.norm == 2.0; ++i)
            matrix.for_each(i, [&](std::size_t, double x) { squares_[i] += x * x; });
    }

    // Each makes one pass over these n rows with this step size. A last mini-batch of fewer rows has a step that is
    // shorter by as much, so that every row counts the same.
    void subgradient_pass(const std::int64_t* rows, std::size_t n, double full_step, std::size_t batch) {
        const std::size_t d = matrix_.n_minor;
        const double share = full_step / static_cast<double>(batch);
        for (std::size_t first = 0; first < n; first += batch) {
            const std::size_t size = std::min(batch, n - first);
            const double step = share * static_cast<double>(size);
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
            radius = with_epigraph(settings_.norm, [&](auto norm) { return norm.project(w.data(), d, s, 1.0); });
        }
    }

    void proximal_pass(const std::int64_t* rows, std::size_t n, double full_step, std::size_t batch, double tol) {
        const double share = full_step / static_cast<double>(batch);
        for (std::size_t first = 0; first < n; first += batch) {
            const std::size_t size = std::min(batch, n - first);
            // With a ridge the update is that of a problem in (w, lam / scale, b / scale), by (28).
            const double step = share * static_cast<double>(size), square = 1.0 + step * settings_.ridge;
            const double scale = std::sqrt(square);
            if (square != 1.0)
                for (double& x : w) x *= 1.0 / square;
            const ProxRow centre{share / square, settings_.kappa * scale, scale,
                                 (radius - step * settings_.epsilon) / scale, intercept / scale,
                                 settings_.fit_intercept ? scale : 0.0};
            if (size == 1) update(static_cast<std::size_t>(rows[first]), centre);
            else update_mean(rows + first, size, centre, tol);
            radius *= scale;
            intercept *= scale;
        }
    }

   private:
    // The update of the mean of some rows from (w, lam0, b0), by ascent in its dual: the multipliers of one row after
    // the other, which the update of this row finds from the centre that the multipliers of the others have moved.
    // They start at those of the last visit, and end after a sweep that changes none by more than tol.
    void update_mean(const std::int64_t* rows, std::size_t size, ProxRow centre, double tol) {
        moved_ = w;
        const auto move = [&](std::size_t i, double sign) {
            const double share = sign * centre.step * weights_[i], shift = share * (p[i] - r[i]);
            if (shift != 0.0) matrix_.axpy(i, shift * y_[i], moved_.data());
            if (r[i] > 0.0) centre.lam0 += share * centre.kappa * r[i];
            centre.b0 += shift * y_[i] * centre.one;
        };
        for (std::size_t k = 0; k < size; ++k) move(static_cast<std::size_t>(rows[k]), 1.0);
        constexpr int most_sweeps = 1000;
        double change = std::numeric_limits<double>::infinity();
        for (int sweep = 0; sweep < most_sweeps && change > tol; ++sweep) {
            change = 0.0;
            for (std::size_t k = 0; k < size; ++k) {
                const auto i = static_cast<std::size_t>(rows[k]);
                const double p_before = p[i], r_before = r[i];
                move(i, -1.0);
                w = moved_;
                update(i, centre);
                move(i, 1.0);
                change = std::max({change, std::fabs(p[i] - p_before), std::fabs(r[i] - r_before)});
            }
        }
    }

    // The update of one row; the step and the intercept of the centre are those of weight and label 1.
    void update(std::size_t i, const ProxRow& centre) {
        ProxRow row = centre;
        row.step *= weights_[i];
        row.one *= y_[i];
        const auto solve = [&](auto& trial) {
            const auto [first, second] = prox_cases(trial, row, {p[i], r[i]});
            p[i] = first, r[i] = second;
            radius = trial.best_lam, intercept = trial.best_b;
        };
        with_epigraph(settings_.norm, [&]<class Epigraph>(Epigraph) {
            if constexpr (std::is_same_v<Epigraph, L2Epigraph>) {
                double A = 0.0;
                for (const double x : w) A += x * x;
                PlaneTrial trial{A, squares_[i], y_[i] * matrix_.dot(i, w.data()), row};
                solve(trial);
                if (trial.best_shift != 0.0) matrix_.axpy(i, trial.best_shift * y_[i], w.data());
                if (trial.best_factor != 1.0)
                    for (double& x : w) x *= trial.best_factor;
            } else {
                VectorTrial<Epigraph> trial{matrix_, i, matrix_.n_minor, y_[i], row, w.data(), trial_, best_};
                solve(trial);
                w.swap(best_);
            }
        });
    }

    const MajorVectors matrix_;
    RobustSettings settings_;
    std::vector<double> y_, weights_, squares_, trial_, best_, moved_;
};

}  // namespace skpd
