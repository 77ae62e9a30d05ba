// Products X' diag(c) theta of one dual point after another, of the columns where they may matter.
//
// By the inequality of Cauchy and Schwarz x_j' diag(c) theta differs from s x_j' diag(c) theta_0 by
// at most ||x_j|| ||theta - s theta_0||, in the norm ||a||^2 = sum_i c_i a_i^2, whatever the scale s.
// The same inequality bounds the rounding errors of those computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "matrix.hpp"

namespace skpd {

SKPD_CLONES inline double weighted_dot(const double* weights, const double* a, const double* b, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += weights[i] * (a[i] * b[i]);
    return sum;
}

class DualProducts {
   public:
    // from theta = 0, of a matrix that is dense or stored by columns
    DualProducts(const AnyLayout& layout, bool by_row, std::size_t n_rows, std::size_t n_columns, const double* weights)
        : layout_(layout), by_row_(by_row), weights_(weights, weights + n_rows), theta_(n_rows),
          scaled_(n_rows), norms_(n_columns), rounding_(n_columns), product_(n_columns), error_(n_columns),
          exact_(n_columns, true) {
        std::visit(
            [&](const auto& matrix) {
                if (by_row) scatter<Square>(matrix, weights, norms_.data());
                else gather<Square>(matrix, weights, norms_.data());
                for (std::size_t j = 0; j < n_columns; ++j) {
                    const std::size_t n_terms = by_row ? n_rows : matrix.length(j);
                    norms_[j] = rounded_up(std::sqrt(norms_[j]), n_terms);
                    rounding_[j] = 1.1 * unit * static_cast<double>(n_terms + 8) * norms_[j];
                }
            },
            layout_);
    }

    // Brings the products to theta. An entry that is at most `enough`, its error included, is left
    // as it is, unless coef is given and not 0 there. Returns whether anything has changed.
    bool take(const double* theta, double enough, const double* coef) {
        const bool moves = !std::equal(theta_.begin(), theta_.end(), theta);
        if (moves) {
            const std::size_t n = theta_.size();
            const double square = weighted_dot(weights_.data(), theta_.data(), theta_.data(), n);
            const double s = square > 0.0 ? weighted_dot(weights_.data(), theta_.data(), theta, n) / square : 0.0;
            for (std::size_t i = 0; i < n; ++i) scaled_[i] = theta[i] - s * theta_[i];
            const double before = std::fabs(s) * size_;
            size_ = norm(theta);
            const double moved = norm(scaled_.data()) + 4.0 * unit * (size_ + before);
            for (std::size_t j = 0; j < error_.size(); ++j) {
                product_[j] *= s;
                error_[j] = (std::fabs(s) * error_[j] + moved * norms_[j] + 2.0 * unit * std::fabs(product_[j])) *
                                (1.0 + 8.0 * unit) + tiny;
            }
            for (std::size_t i = 0; i < n; ++i) scaled_[i] = weights_[i] * theta[i];
            theta_.assign(theta, theta + n);
            std::fill(exact_.begin(), exact_.end(), false);
        }
        wanted_.clear();
        for (std::size_t j = 0; j < error_.size(); ++j) {
            if (exact_[j]) continue;
            const bool small = std::fabs(product_[j]) + error_[j] <= enough;
            if (!small || (coef && coef[j] != 0.0)) wanted_.push_back(static_cast<std::int64_t>(j));
        }
        if (!wanted_.empty()) std::visit([&](const auto& matrix) { compute(matrix); }, layout_);
        return moves || !wanted_.empty();
    }

    std::size_t n_rows() const { return weights_.size(); }
    std::size_t n_columns() const { return norms_.size(); }
    const std::vector<double>& product() const { return product_; }
    const std::vector<double>& error() const { return error_; }

   private:
    static constexpr double unit = 1.1102230246251565e-16;  // 2^-53
    static constexpr double tiny = 1e-153;                  // above the root of the smallest normal number

    // a norm of so many terms, some of which may have vanished
    static double rounded_up(double norm, std::size_t n_terms) {
        return norm * (1.0 + 1.1 * unit * static_cast<double>(n_terms + 8)) + tiny;
    }

    double norm(const double* a) const {
        return rounded_up(std::sqrt(weighted_dot(weights_.data(), a, a, weights_.size())), weights_.size());
    }

    template <class M>
    void compute(const M& matrix) {
        constexpr std::size_t gathering = 5;  // from a row costs about so many entries met in turn
        std::size_t work = 0;
        for (const auto j : wanted_) work += by_row_ ? gathering * matrix.n_major : matrix.length(static_cast<std::size_t>(j));
        const std::size_t all = matrix.n_entries();
        if (work > all - all / 10) {
            std::fill(product_.begin(), product_.end(), 0.0);
            if (by_row_) scatter<Identity>(matrix, scaled_.data(), product_.data());
            else gather<Identity>(matrix, scaled_.data(), product_.data());
            for (std::size_t j = 0; j < error_.size(); ++j) settle(j);
            return;
        }
        some_.assign(wanted_.size(), 0.0);
        if (!by_row_) gather_some(matrix, wanted_.data(), wanted_.size(), scaled_.data(), some_.data());
        else if constexpr (is_dense<M>) scatter_some(matrix, wanted_.data(), wanted_.size(), scaled_.data(), some_.data());
        for (std::size_t k = 0; k < wanted_.size(); ++k) {
            const auto j = static_cast<std::size_t>(wanted_[k]);
            product_[j] = some_[k];
            settle(j);
        }
    }
    // the error of a sum of products of three factors, added up in any order
    void settle(std::size_t j) {
        error_[j] = size_ * rounding_[j] + tiny;
        exact_[j] = true;
    }

    AnyLayout layout_;
    bool by_row_;
    std::vector<double> weights_, theta_, scaled_;  // scaled: weights * theta
    std::vector<double> norms_, rounding_, product_, error_;
    std::vector<std::uint8_t> exact_;  // whether computed from this theta
    std::vector<std::int64_t> wanted_;
    std::vector<double> some_;
    double size_ = 0.0;
};

}  // namespace skpd
