// p = X' diag(c) theta for a sequence of dual points theta (n), with X (n, d) stored by columns and p (d), of which
// only the entries that may matter are computed.
//
// By the Cauchy-Schwarz inequality, for every scale s,
//
//   |x_j' diag(c) theta - s x_j' diag(c) theta_0| <= ||x_j|| ||theta - s theta_0||,    ||a||^2 = sum_i c_i a_i^2.
//
// The same inequality bounds the rounding errors of computed products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "data/products.hpp"

namespace skpd {

// sum_i weights_i a_i b_i over n entries
SKPD_CLONES inline double weighted_dot(const double* weights, const double* a, const double* b, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += weights[i] * (a[i] * b[i]);
    return sum;
}

class DualProducts {
   public:
    // Starts at theta = 0.
    DualProducts(const AnyLayout& columns, std::size_t n_rows, std::size_t n_columns, const double* weights)
        : columns_(columns), weights_(weights, weights + n_rows), theta_(n_rows), scaled_(n_rows), norms_(n_columns),
          rounding_(n_columns), product_(n_columns), error_(n_columns), exact_(n_columns, true) {
        std::visit(
            [&](const auto& matrix) {
                gather<Square>(matrix, weights, norms_.data());
                for (std::size_t j = 0; j < n_columns; ++j) {
                    const std::size_t n_terms = matrix.length(j);
                    norms_[j] = rounded_up(std::sqrt(norms_[j]), n_terms);
                    rounding_[j] = 1.1 * unit_roundoff * static_cast<double>(n_terms + 8) * norms_[j];
                }
            },
            columns_);
    }

    // Updates the products to theta (n). An entry j with |p_j| + error_j <= threshold is left as it is, unless coef (d)
    // is given and coef_j != 0. Returns whether anything has changed.
    bool take(const double* theta, double threshold, const double* coef) {
        const bool moves = !std::equal(theta_.begin(), theta_.end(), theta);
        if (moves) {
            const std::size_t n = theta_.size();
            const double square = weighted_dot(weights_.data(), theta_.data(), theta_.data(), n);
            const double s = square > 0.0 ? weighted_dot(weights_.data(), theta_.data(), theta, n) / square : 0.0;
            for (std::size_t i = 0; i < n; ++i) scaled_[i] = theta[i] - s * theta_[i];
            const double before = std::fabs(s) * size_;
            size_ = norm(theta);
            const double moved = norm(scaled_.data()) + 4.0 * unit_roundoff * (size_ + before);
            for (std::size_t j = 0; j < error_.size(); ++j) {
                product_[j] *= s;
                const double rounding = 2.0 * unit_roundoff * std::fabs(product_[j]);
                const double error = std::fabs(s) * error_[j] + moved * norms_[j] + rounding;
                error_[j] = error * (1.0 + 8.0 * unit_roundoff) + tiny;
            }
            for (std::size_t i = 0; i < n; ++i) scaled_[i] = weights_[i] * theta[i];
            theta_.assign(theta, theta + n);
            std::fill(exact_.begin(), exact_.end(), false);
        }
        requested_.clear();
        for (std::size_t j = 0; j < error_.size(); ++j) {
            if (exact_[j]) continue;
            if (!is_small(j, threshold) || (coef && coef[j] != 0.0)) requested_.push_back(static_cast<std::int64_t>(j));
        }
        const bool changes = moves || !requested_.empty();
        if (!requested_.empty()) std::visit([&](const auto& matrix) { compute(matrix); }, columns_);
        return changes;
    }

    std::size_t n_rows() const { return weights_.size(); }
    std::size_t n_columns() const { return norms_.size(); }
    const std::vector<double>& product() const { return product_; }
    const std::vector<double>& error() const { return error_; }

   private:
    static constexpr double tiny = 1e-153;  // exceeds the square root of the smallest normal number

    // An upper bound on a norm, from the computed norm of n_terms terms, which may underflow
    static double rounded_up(double norm, std::size_t n_terms) {
        return norm * (1.0 + 1.1 * unit_roundoff * static_cast<double>(n_terms + 8)) + tiny;
    }

    double norm(const double* a) const {
        return rounded_up(std::sqrt(weighted_dot(weights_.data(), a, a, weights_.size())), weights_.size());
    }

    bool is_small(std::size_t j, double threshold) const { return std::fabs(product_[j]) + error_[j] <= threshold; }

    // Computes the requested products, with all others if that reads few additional entries of the matrix.
    template <class M>
    void compute(const M& matrix) {
        std::size_t n_read = 0;
        for (const auto j : requested_) n_read += matrix.length(static_cast<std::size_t>(j));
        const std::size_t n_entries = matrix.n_entries();
        if (n_read > n_entries - n_entries / 10) {
            std::fill(product_.begin(), product_.end(), 0.0);
            gather<Identity>(matrix, scaled_.data(), product_.data());
            for (std::size_t j = 0; j < error_.size(); ++j) set_exact(j);
            return;
        }
        selected_.resize(requested_.size());
        gather_selected(matrix, requested_.data(), requested_.size(), scaled_.data(), selected_.data());
        for (std::size_t k = 0; k < requested_.size(); ++k) {
            const auto j = static_cast<std::size_t>(requested_[k]);
            product_[j] = selected_[k];
            set_exact(j);
        }
    }
    // Sets the error to the bound for a sum of products of three factors in any order.
    void set_exact(std::size_t j) {
        error_[j] = size_ * rounding_[j] + tiny;
        exact_[j] = true;
    }

    AnyLayout columns_;
    std::vector<double> weights_, theta_, scaled_;  // scaled_ is weights * theta
    std::vector<double> norms_, rounding_, product_, error_;
    std::vector<std::uint8_t> exact_;  // whether the product was computed from this theta
    std::vector<std::int64_t> requested_;
    std::vector<double> selected_;
    double size_ = 0.0;
};

}  // namespace skpd
