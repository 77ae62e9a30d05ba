// The softmax loss l(y, z) = log sum_k exp(z_k) - sum_k y_k z_k of n rows, its derivatives and its conjugate; z and y
// have the shape (n, K), and y is 1 for the class of a row and 0 elsewhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "data/output_blocks.hpp"
#include "maths/losses.hpp"

namespace skpd {

// A block of at most `length` rows, stored by outputs, so that loops over the rows are vectorised.
class SoftmaxBlock {
   public:
    static constexpr std::size_t length = 64;

    explicit SoftmaxBlock(std::size_t K) : K_(K), z_(K * length), y_(K * length) {}

    void take(const double* z, const double* y, std::size_t count) {
        z_.assign(z_.size(), 0.0);
        y_.assign(y_.size(), 0.0);
        to_outputs(z, count, K_, z_.data(), length);
        to_outputs(y, count, K_, y_.data(), length);
        evaluate(K_, z_.data(), y_.data(), loss, entropy);
    }
    double probability(std::size_t i, std::size_t k) const { return z_[k * length + i]; }

    double loss[length], entropy[length];

   private:
    // Overwrites z by the probabilities p. With a_k = z_k - max z and s = sum_k exp(a_k), loss = log s - a_y and
    // entropy = log s - sum_k p_k a_k are sums of terms that are not negative. s - 1 is summed without the term of the
    // largest z_k, which is 1.
    SKPD_CLONES static void evaluate(std::size_t K, double* z, const double* y, double* loss, double* entropy) {
        double max_score[length], first[length], true_score[length], others[length], mean[length];
        for (std::size_t i = 0; i < length; ++i) {
            max_score[i] = z[i];
            first[i] = true_score[i] = others[i] = mean[i] = 0.0;
        }
        for (std::size_t k = 1; k < K; ++k)
#pragma omp simd
            for (std::size_t i = 0; i < length; ++i) {
                first[i] = z[k * length + i] > max_score[i] ? static_cast<double>(k) : first[i];
                max_score[i] = std::max(max_score[i], z[k * length + i]);
            }
        for (std::size_t k = 0; k < K; ++k)
#pragma omp simd
            for (std::size_t i = 0; i < length; ++i) {
                const double a = z[k * length + i] - max_score[i], term = exp_minus_abs(a);
                true_score[i] += y[k * length + i] > 0.0 ? a : 0.0;
                others[i] += first[i] == static_cast<double>(k) ? 0.0 : term;
                mean[i] += term * a;
                z[k * length + i] = term;
            }
        for (std::size_t i = 0; i < length; ++i) {
            const double normaliser = std::log1p(others[i]);
            loss[i] = normaliser - true_score[i];
            entropy[i] = normaliser - mean[i] / (1.0 + others[i]);
        }
        for (std::size_t k = 0; k < K; ++k)
#pragma omp simd
            for (std::size_t i = 0; i < length; ++i) z[k * length + i] /= 1.0 + others[i];
    }

    std::size_t K_;
    std::vector<double> z_, y_;
};

// With p_ik = exp(z_ik) / sum_q exp(z_iq), writes
//   derivative = p - y,    gradient = weights (p - y),    d = weights p,    e = weights^(1/2) p,
// so that the curvature of row i is weight_i (diag(p_i) - p_i p_i') = diag(d_i) - e_i e_i'. All arrays have the shape
// (n, K). Returns sum_i weight_i l_i and -sum_i weight_i l*_i(p_i - y_i).
inline std::pair<double, double> softmax_derivatives(std::size_t n, std::size_t K, const double* y,
                                                     const double* weights, const double* z, double* derivative,
                                                     double* gradient, double* d, double* e) {
    SoftmaxBlock block(K);
    double primal = 0.0, dual = 0.0;
    for (std::size_t first = 0; first < n; first += SoftmaxBlock::length) {
        const std::size_t count = std::min(SoftmaxBlock::length, n - first);
        block.take(z + first * K, y + first * K, count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t row = (first + i) * K;
            const double weight = weights[row], root = std::sqrt(weight);
            primal += weight * block.loss[i];
            dual += weight * block.entropy[i];
            for (std::size_t k = 0; k < K; ++k) {
                const double p = block.probability(i, k);
                derivative[row + k] = p - y[row + k];
                gradient[row + k] = weight * (p - y[row + k]);
                d[row + k] = weight * p;
                e[row + k] = root * p;
            }
        }
    }
    return {primal, dual};
}

}  // namespace skpd
