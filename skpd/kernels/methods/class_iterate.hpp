// The iterate of dual descent for the loss of Crammer and Singer: for each row a point p_i of the simplex, and the
// coefficients that these give,
//
//     W = -(1 / alpha) sum_i c_i x_i (p_i - e_y(i))',
//
// with a row for each feature, padded with zeros. The dual value is
//
//     D = sum_i c_i sum over k not y(i) of p_ik - (alpha / 2) ||W||^2,
//
// whose gradient in p_i, over c_i, are the rivals' scores G_ik = x_i . w_k + [k is not y(i)].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/table_products.hpp"

namespace skpd {

struct ClassRow {
    double weight, step;  // step = alpha / (c_i ||x_i||^2)
    std::uint32_t own;    // y(i)
    std::uint32_t whole;  // the class that has all of p_i, or `several`
};
constexpr std::uint32_t several = 0xffffffff;

// Loops over the classes of a row, padded: the first by what is there, the others by a number of no effect.

SKPD_CLONES inline double largest_of(const double* G, std::size_t stride) {
    double most = G[0];
#pragma omp simd reduction(max : most)
    for (std::size_t k = 0; k < stride; ++k) most = std::max(most, G[k]);
    return most;
}
// v = p + step (G - most), as a number off all scores changes nothing, and saves digits; with the largest v
// and sum_k p_k (most - G_k), of which -inf in the padding must have no part.
struct Ascent {
    double largest, lacks;
};
SKPD_CLONES inline Ascent ascend(const double* p, const double* G, double most, double step, double* v,
                                 std::size_t stride) {
    double largest = -std::numeric_limits<double>::infinity(), lacks = 0.0;
#pragma omp simd reduction(max : largest) reduction(+ : lacks)
    for (std::size_t k = 0; k < stride; ++k) {
        const double behind = most - G[k];
        v[k] = p[k] - step * behind;
        largest = std::max(largest, v[k]);
        lacks += p[k] > 0.0 ? p[k] * behind : 0.0;
    }
    return {largest, lacks};
}

template <class M>
struct ClassIterate {
    const M matrix;
    const std::size_t n, d, n_classes, stride;
    const double alpha;
    std::vector<ClassRow> rows;
    Numbers p;  // of shape (n, stride)
    Numbers W;  // of shape (d, stride)

    ClassIterate(const M& matrix, std::size_t n_classes, double alpha)
        : matrix(matrix), n(matrix.n_major), d(matrix.n_minor), n_classes(n_classes), stride(padded(n_classes)),
          alpha(alpha), rows(n), p(n * stride), W(d * stride), ahead_(stride, -infinity), scaled_(stride),
          ascent_(stride) {
        std::fill_n(ahead_.begin(), n_classes, 1.0);
        candidates_.reserve(n_classes);
    }

    double* point(std::size_t i) { return p.data() + i * stride; }
    const double* point(std::size_t i) const { return p.data() + i * stride; }

    // After a change of p_i
    void note(std::size_t i) {
        const double* own = point(i);
        rows[i].whole = several;
        for (std::size_t k = 0; k < n_classes; ++k)
            if (own[k] == 1.0) rows[i].whole = static_cast<std::uint32_t>(k);
    }

    // G_i, of which that of the padding is -inf
    void rivals(std::size_t i, double* G) const {
        scores(matrix, i, W.data(), stride, G);
        for (std::size_t k = 0; k < stride; ++k) G[k] += ahead_[k];
        G[rows[i].own] -= 1.0;
    }

    // The change of W that follows from one of p_i: table -= (c_i / alpha) x_i change'
    void add(std::size_t i, const double* change, double* table) {
        const double a = -rows[i].weight / alpha;
        for (std::size_t k = 0; k < stride; ++k) scaled_[k] = a * change[k];
        add_outer(matrix, i, scaled_.data(), table, stride);
    }

    // The lead of the class with p_ik = 1 over the other classes; -inf if no class has all of p_i
    double lead(std::size_t i, double* G) const {
        const std::uint32_t whole = rows[i].whole;
        if (whole == several) return -infinity;
        const double first = std::exchange(G[whole], -infinity);
        const double second = largest_of(G, stride);
        G[whole] = first;
        return first - second;
    }

    // Moves p_i to where the dual is largest along it. That is the point of the simplex nearest to p_i + step G_i,
    // found by taking the mean excess off the classes that are left until none falls below 0 (Michelot, 1986).
    // Writes the change; returns the largest, and max_k G_ik - p_i . G_i before: what the row lacks in
    // Fenchel's inequality.
    Ascent move(std::size_t i, const double* G, double* change) {
        double* own = point(i);
        const auto [largest, lacks] = ascend(own, G, largest_of(G, stride), rows[i].step, ascent_.data(), stride);
        candidates_.clear();
        double sum = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) {
            if (!(ascent_[k] > largest - 1.0)) continue;  // below any threshold
            candidates_.push_back(static_cast<std::uint32_t>(k));
            sum += ascent_[k];
        }
        if (candidates_.empty()) return {0.0, lacks};  // where scores overflow
        double threshold = largest - 1.0;
        while (candidates_.size() > 1) {
            threshold = (sum - 1.0) / static_cast<double>(candidates_.size());
            const std::size_t before = candidates_.size();
            std::erase_if(candidates_, [&](std::uint32_t k) { return !(ascent_[k] > threshold); });
            if (candidates_.size() == before) break;
            sum = 0.0;
            for (const std::uint32_t k : candidates_) sum += ascent_[k];
        }
        for (std::size_t k = 0; k < n_classes; ++k) change[k] = -own[k];
        std::fill_n(own, n_classes, 0.0);
        const bool alone = candidates_.size() == 1;
        for (const std::uint32_t k : candidates_) {
            own[k] = alone ? 1.0 : ascent_[k] - threshold;
            change[k] += own[k];
        }
        rows[i].whole = alone ? candidates_[0] : several;
        double most = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) most = std::max(most, std::fabs(change[k]));
        return {most, lacks};
    }

    // The slack of a row in Fenchel's inequality
    double lacks(std::size_t i, const double* G) const {
        const double most = largest_of(G, stride);
        double sum = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) sum += point(i)[k] * (most - G[k]);
        return sum;
    }

    // Computes W from all p_i, rid of the rounding of its changes.
    void refresh() {
        std::fill(W.begin(), W.end(), 0.0);
        Numbers theta(stride);
        for (std::size_t i = 0; i < n; ++i) {
            if (!(rows[i].weight > 0.0) || rows[i].whole == rows[i].own) continue;
            std::copy_n(point(i), stride, theta.data());
            theta[rows[i].own] = 0.0;
            double others = 0.0;
            for (std::size_t k = 0; k < n_classes; ++k) others += theta[k];
            theta[rows[i].own] = -others;
            add(i, theta.data(), W.data());
        }
    }

   private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    Numbers ahead_;   // 1 for each class, and -inf in the padding
    Numbers scaled_;  // a change, and 0 in the padding
    Numbers ascent_;  // v
    std::vector<std::uint32_t> candidates_;
};

}  // namespace skpd
