// log sum_y exp(score(y)) and max_y score(y) over all labelings y of chains, by recursions along each chain (Rabiner,
// 1989), with
//
//   score(y) = sum_t nodes[t, y_t] + sum_t transitions[y_t, y_{t+1}],
//
// nodes of shape (n_tokens, K), chain by chain, transitions of shape (K, K), and labels from 0 to K - 1. Sums over
// chains are added up chain by chain, so that they have few roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "data/compensated.hpp"
#include "maths/losses.hpp"

namespace skpd {

// Chains of tokens; starts (count + 1) has the first token of each chain, followed by the number of tokens.
struct Chains {
    std::size_t count, K;
    const std::int64_t* starts;

    std::size_t first(std::size_t chain) const { return static_cast<std::size_t>(starts[chain]); }
};

// out = exp(max(scores - t, -range)) with t the largest score of each row; scores and out (rows, size). Returns the sum
// of the t.
SKPD_CLONES inline double potentials_of(const double* scores, std::size_t rows, std::size_t size, double range,
                                        double* out) {
    double sum = 0.0;
    for (std::size_t t = 0; t < rows; ++t) {
        const double* row = scores + t * size;
        const double top = *std::max_element(row, row + size);
        sum += top;
        for (std::size_t k = 0; k < size; ++k) out[t * size + k] = std::max(row[k] - top, -range);
    }
#pragma omp simd
    for (std::size_t k = 0; k < rows * size; ++k) out[k] = exp_minus_abs(out[k]);
    return sum;
}

// out = a P; P (K, K), a and out (K)
inline void times_matrix(const double* a, const double* matrix, std::size_t K, double* out) {
    std::fill(out, out + K, 0.0);
    for (std::size_t i = 0; i < K; ++i)
#pragma omp simd
        for (std::size_t j = 0; j < K; ++j) out[j] += a[i] * matrix[i * K + j];
}

// out_j = max_i a_i + P_ij; P (K, K), a and out (K)
inline void add_and_maximise(const double* a, const double* matrix, std::size_t K, double* out) {
    std::fill(out, out + K, -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < K; ++i)
#pragma omp simd
        for (std::size_t j = 0; j < K; ++j) out[j] = std::max(out[j], a[i] + matrix[i * K + j]);
}

// a <- a / sum_k a_k; a (K). Returns the sum.
inline double normalise(double* a, std::size_t K) {
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) sum += a[k];
    for (std::size_t k = 0; k < K; ++k) a[k] /= sum;
    return sum;
}

// The forward pass of scaled sum-product. Writes
//   log_partition[c] = log sum_y exp(score(y)) over the labelings y of chain c,
//   forward[t, k]    = P(y_t = k | tokens up to t),
//   potentials       = exp(transitions - max transitions);
// log_partition (count), forward (n_tokens, K), potentials (K, K). Scores that are more than `range` below the best of
// their token, or transition, are raised to that value.
SKPD_CLONES inline void sum_forward(const Chains& chains, const double* nodes, const double* transitions, double range,
                                    double* log_partition, double* forward, double* potentials) {
    const std::size_t K = chains.K;
    const double highest = potentials_of(transitions, 1, K * K, range, potentials);
    std::vector<double> arriving(K);
    for (std::size_t c = 0; c < chains.count; ++c) {
        const std::size_t first = chains.first(c), last = chains.first(c + 1);
        double value = potentials_of(nodes + first * K, last - first, K, range, forward + first * K);
        for (std::size_t t = first; t < last; ++t) {
            double* probabilities = forward + t * K;
            if (t > first) {
                times_matrix(probabilities - K, potentials, K, arriving.data());
                for (std::size_t k = 0; k < K; ++k) probabilities[k] *= arriving[k];
                value += highest;
            }
            value += std::log(normalise(probabilities, K));
        }
        log_partition[c] = value;
    }
}

// The backward pass, after `sum_forward`. Writes
//   backward[t, k]  ~ the factor of token t and the tokens after it for y_t = k, scaled to add up to 1,
//   marginals[t, k] = P(y_t = k),
//   counts[j, k]    = the expected number of transitions from j to k in all chains;
// backward and marginals (n_tokens, K), counts (K, K).
SKPD_CLONES inline void sum_backward(const Chains& chains, const double* nodes, double range, const double* forward,
                                     const double* potentials, double* backward, double* marginals, double* counts) {
    const std::size_t K = chains.K;
    std::vector<double> after(K), transposed(K * K), of_chain(K * K);
    for (std::size_t i = 0; i < K; ++i)
        for (std::size_t j = 0; j < K; ++j) transposed[j * K + i] = potentials[i * K + j];
    std::fill(counts, counts + K * K, 0.0);
    for (std::size_t c = 0; c < chains.count; ++c) {
        const std::size_t first = chains.first(c), last = chains.first(c + 1);
        potentials_of(nodes + first * K, last - first, K, range, backward + first * K);
        std::fill(of_chain.begin(), of_chain.end(), 0.0);
        std::fill(after.begin(), after.end(), 1.0);
        for (std::size_t t = last; t-- > first;) {
            double *message = backward + t * K, *marginal = marginals + t * K;
            for (std::size_t k = 0; k < K; ++k) marginal[k] = forward[t * K + k] * after[k];
            const double norm = normalise(marginal, K);
            if (t + 1 < last)
                for (std::size_t i = 0; i < K; ++i) {
                    const double share = forward[t * K + i] / norm;
#pragma omp simd
                    for (std::size_t j = 0; j < K; ++j) of_chain[i * K + j] += share * message[K + j];
                }
            for (std::size_t k = 0; k < K; ++k) message[k] *= after[k];
            normalise(message, K);
            times_matrix(message, transposed.data(), K, after.data());
        }
        for (std::size_t k = 0; k < K * K; ++k) counts[k] += of_chain[k];
    }
    for (std::size_t k = 0; k < K * K; ++k) counts[k] *= potentials[k];
}

// log_partition as `sum_forward` defines it, computed in logarithms: it is slower, but scores may differ by any amount.
SKPD_CLONES inline void log_sums(const Chains& chains, const double* nodes, const double* transitions,
                                 double* log_partition) {
    const std::size_t K = chains.K;
    std::vector<double> now(K), before(K), largest(K), sums(K);
    for (std::size_t c = 0; c < chains.count; ++c) {
        const std::size_t first = chains.first(c), last = chains.first(c + 1);
        std::copy(nodes + first * K, nodes + (first + 1) * K, now.begin());
        for (std::size_t t = first + 1; t < last; ++t) {
            std::swap(now, before);
            add_and_maximise(before.data(), transitions, K, largest.data());
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t i = 0; i < K; ++i)
                for (std::size_t j = 0; j < K; ++j)
                    sums[j] += exp_minus_abs(before[i] + transitions[i * K + j] - largest[j]);
            for (std::size_t j = 0; j < K; ++j) now[j] = nodes[t * K + j] + largest[j] + std::log(sums[j]);
        }
        const double top = *std::max_element(now.begin(), now.end());
        double sum = 0.0;
        for (const double score : now) sum += exp_minus_abs(score - top);
        log_partition[c] = top + std::log(sum);
    }
}

// Max-product (Viterbi): values[c] = max_y score(y) of chain c, and labels[t] = y_t of a labeling y with this score;
// values (count), labels (n_tokens).
SKPD_CLONES inline void best_labelings(const Chains& chains, const double* nodes, const double* transitions,
                                       double* values, std::int64_t* labels) {
    const std::size_t K = chains.K;
    std::vector<double> best, arriving(K);
    for (std::size_t c = 0; c < chains.count; ++c) {
        const std::size_t first = chains.first(c), length = chains.first(c + 1) - first;
        best.assign(nodes + first * K, nodes + (first + length) * K);
        for (std::size_t t = 1; t < length; ++t) {
            double* scores = best.data() + t * K;
            add_and_maximise(scores - K, transitions, K, arriving.data());
            for (std::size_t j = 0; j < K; ++j) scores[j] += arriving[j];
        }
        const double* last = best.data() + (length - 1) * K;
        std::size_t label = static_cast<std::size_t>(std::max_element(last, last + K) - last);
        values[c] = last[label];
        labels[first + length - 1] = static_cast<std::int64_t>(label);
        for (std::size_t t = length - 1; t-- > 0;) {
            const double* scores = best.data() + t * K;
            std::size_t from = 0;
            for (std::size_t i = 1; i < K; ++i)
                if (scores[i] + transitions[i * K + label] > scores[from] + transitions[from * K + label]) from = i;
            label = from;
            labels[first + t] = static_cast<std::int64_t>(label);
        }
    }
}

}  // namespace skpd
