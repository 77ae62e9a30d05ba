// The pinball losses of K quantiles that must be in order, for rows of K entries (skpd/losses/quantiles.py has their
// formulas and those of their conjugates). With the levels
//
//   t_k = theta_k + sigma f (z_k - y_k) + q_k,    f = max(1, 1 + growth (max_k |theta_k| - 1)),
//
// and the nearest non-decreasing row s to t (isotonic regression), the gradient of the Moreau envelope of a row is
// t - s + clip(s, 0, 1) - q.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace skpd {

class OrderedPinballs {
   public:
    // The levels of a row, and the means and starts of the blocks of its nearest non-decreasing row. Each call has its
    // own, so that threads may share the losses.
    struct Scratch {
        std::vector<double> levels, means;
        std::vector<std::size_t> starts;
    };

    explicit OrderedPinballs(std::vector<double> quantiles) : q_(std::move(quantiles)) {}

    Scratch scratch() const {
        const std::size_t K = q_.size();
        return {std::vector<double>(K), std::vector<double>(K), std::vector<std::size_t>(K + 1)};
    }

    std::size_t n_outputs() const { return q_.size(); }

    // Writes the levels of a row to t (K); returns its factor f.
    double levels(const double* y, const double* theta, const double* z, double sigma, double* t) const {
        double largest = 1.0;
        for (std::size_t k = 0; k < q_.size(); ++k) largest = std::max(largest, std::fabs(theta[k]));
        const double factor = 1.0 + growth * std::min(largest - 1.0, largest_counted);
        for (std::size_t k = 0; k < q_.size(); ++k) t[k] = theta[k] + sigma * factor * (z[k] - y[k]) + q_[k];
        return factor;
    }

    // Writes the nearest non-decreasing row to t (K), by pooling adjacent violators (Ayer et al., 1955).
    void nearest(const double* t, double* out, Scratch& scratch) const {
        const std::size_t n_blocks = pool(t, scratch);
        const auto& starts = scratch.starts;
        for (std::size_t b = 0; b < n_blocks; ++b) std::fill(out + starts[b], out + starts[b + 1], scratch.means[b]);
    }

    // Writes the gradient of the envelope of a row and its Hessian diag(d) - e e' over sigma, all (K). A level between
    // 0 and 1 has the second derivative f. A block of levels with the same mean, outside of [0, 1], has
    // f (I - 1 1' / size). Of several such blocks e is that of the first, and the Hessian is larger in the others.
    void derivatives(const double* y, const double* theta, const double* z, double sigma, double* gradient, double* d,
                     double* e, Scratch& scratch) const {
        const std::size_t K = q_.size();
        auto& t = scratch.levels;
        const double factor = levels(y, theta, z, sigma, t.data());
        std::fill(e, e + K, 0.0);
        if (std::is_sorted(t.begin(), t.end())) {
            for (std::size_t k = 0; k < K; ++k) {
                gradient[k] = std::clamp(t[k], 0.0, 1.0) - q_[k];
                d[k] = t[k] > 0.0 && t[k] < 1.0 ? factor : 0.0;
            }
            return;
        }
        const std::size_t n_blocks = pool(t.data(), scratch);
        bool is_first = true;
        for (std::size_t b = 0; b < n_blocks; ++b) {
            const std::size_t first = scratch.starts[b], end = scratch.starts[b + 1];
            const double s = scratch.means[b], size = static_cast<double>(end - first);
            const bool inside = s > 0.0 && s < 1.0, is_tied = size > 1.0 && !inside;
            for (std::size_t k = first; k < end; ++k) {
                gradient[k] = t[k] - s + std::clamp(s, 0.0, 1.0) - q_[k];
                d[k] = inside || is_tied ? factor : 0.0;
                if (is_tied && is_first) e[k] = std::sqrt(factor / size);
            }
            is_first = is_first && !is_tied;
        }
    }

    // The sum of the pinball losses of a row
    double value(const double* y, const double* z) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < q_.size(); ++k) {
            const double residual = z[k] - y[k];
            sum += std::max((1.0 - q_[k]) * residual, -q_[k] * residual);
        }
        return sum;
    }

    // Writes the derivatives of the envelopes of n rows and those of their weighted sum, its gradient and its Hessian
    // diag(curvature) - factor factor' in each row, over sigma, all (n K), and by how much each prediction except the
    // last exceeds the next at most, overlaps (K - 1). Returns sum_i c_i l(y_i, z_i) and sum_i -c_i y_i.derivative_i.
    std::pair<double, double> smoothed_derivatives(std::size_t n, const double* y, const double* weights,
                                                   const double* theta, const double* z, double sigma,
                                                   double* derivative, double* gradient, double* curvature,
                                                   double* factor, double* overlaps) const {
        const std::size_t K = q_.size();
        Scratch scratch = this->scratch();
        std::fill(overlaps, overlaps + K - 1, -std::numeric_limits<double>::infinity());
        double primal = 0.0, dual = 0.0;
        for (std::size_t a = 0; a < n * K; a += K) {
            derivatives(y + a, theta + a, z + a, sigma, derivative + a, curvature + a, factor + a, scratch);
            const double weight = weights[a], root = std::sqrt(weight);
            for (std::size_t b = a; b < a + K; ++b) {
                dual -= weight * y[b] * derivative[b];
                gradient[b] = weight * derivative[b];
                curvature[b] *= weight;
                factor[b] *= root;
            }
            if (!(weight > 0.0)) continue;
            primal += weight * value(y + a, z + a);
            for (std::size_t k = 1; k < K; ++k) overlaps[k - 1] = std::max(overlaps[k - 1], z[a + k - 1] - z[a + k]);
        }
        return {primal, dual};
    }

    // The slope of the weighted sum of envelopes along a direction (n K), at a step
    double smoothed_slope(std::size_t n, const double* y, const double* weights, const double* theta, const double* z,
                          const double* direction, double step, double sigma) const {
        const std::size_t K = q_.size();
        Scratch scratch = this->scratch();
        std::vector<double> moved(K), gradient(K), d(K), e(K);
        double slope = 0.0;
        for (std::size_t a = 0; a < n * K; a += K) {
            for (std::size_t k = 0; k < K; ++k) moved[k] = z[a + k] + step * direction[a + k];
            derivatives(y + a, theta + a, moved.data(), sigma, gradient.data(), d.data(), e.data(), scratch);
            for (std::size_t k = 0; k < K; ++k) slope += weights[a + k] * direction[a + k] * gradient[k];
        }
        return slope;
    }

    // Calls use(k) for each entry whose level is in [0, 1] or not in order, or may be after a change of z of a radius.
    template <class Use>
    void entries_that_bend(const double* y, const double* theta, const double* z, double sigma, double radius, Use use,
                           Scratch& scratch) const {
        auto& t = scratch.levels;
        const double change = sigma * levels(y, theta, z, sigma, t.data()) * radius;
        for (std::size_t k = 0; k < q_.size(); ++k) {
            const bool is_near = t[k] > -change && t[k] < 1.0 + change;
            if (is_near || (k > 0 && t[k] - t[k - 1] < 2.0 * change)) use(k);
        }
    }

   private:
    // The growth of f with the dual point: the few rows that hold quantiles apart have dual points of a hundred, which
    // steps of the same size for all rows reach in 65 Newton steps and these in 25.
    static constexpr double growth = 10.0;
    static constexpr double largest_counted = 1e6;  // dual points of rows without a weight are arbitrary

    // Computes the blocks of the nearest row: their means and where they start; returns their number.
    std::size_t pool(const double* t, Scratch& scratch) const {
        auto& [levels, means, starts] = scratch;
        std::size_t n_blocks = 0;
        for (std::size_t k = 0; k < q_.size(); ++k) {
            double mean = t[k];
            starts[n_blocks] = k;
            while (n_blocks > 0 && means[n_blocks - 1] >= mean) {
                const double pooled = static_cast<double>(starts[n_blocks] - starts[n_blocks - 1]);
                const double size = static_cast<double>(k + 1 - starts[n_blocks - 1]);
                --n_blocks;
                mean += (means[n_blocks] - mean) * (pooled / size);
            }
            means[n_blocks++] = mean;
        }
        starts[n_blocks] = q_.size();
        return n_blocks;
    }

    std::vector<double> q_;
};

}  // namespace skpd
