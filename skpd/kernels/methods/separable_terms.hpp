// Penalties that are sums over the coordinates: the same term for every one, or one each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "maths/losses.hpp"

namespace skpd {

// l1 |p| + l2 p^2 / 2 on [lower, upper]
struct SeparableTerm {
    double l1, l2, lower, upper;

    double prox(double v, double step) const {
        const double shrunk = v - clip(v, -step * l1, step * l1);
        return clip(shrunk / (1.0 + step * l2), lower, upper);
    }
    // argmin over x of curvature x^2 / 2 - slope x + R(x), where one of the curvatures is positive
    double minimiser(double curvature, double slope) const {
        return clip((slope - clip(slope, -l1, l1)) / (curvature + l2), lower, upper);
    }
    // Whether the term is differentiable at p, and stays so nearby
    bool is_smooth_at(double p) const { return p > lower && p < upper && (p != 0.0 || l1 == 0.0); }
    double derivative(double p) const { return l2 * p + (p > 0.0 ? l1 : p < 0.0 ? -l1 : 0.0); }
    // The end of a step from a point to another, which is the first kink or bound that it would cross
    double held(double from, double to) const {
        return clip(l1 > 0.0 && to * from < 0.0 ? 0.0 : to, lower, upper);
    }
    // The increase of the term between two points on one side of its kink
    double rise(double from, double to) const {
        return l1 * (std::fabs(to) - std::fabs(from)) + 0.5 * l2 * (to - from) * (to + from);
    }
    // The number of steps from p to the first kink or bound
    double steps_to_kink(double p, double step) const {
        double bound = step > 0.0 ? upper : lower;
        if (l1 > 0.0 && p * step < 0.0) bound = 0.0;
        return (bound - p) / step;
    }
};

// The terms of coordinates 0, 1, ...: one for all, or as many as there are coordinates.
class SeparableTerms {
   public:
    SeparableTerms(std::vector<SeparableTerm> terms, bool same)
        : terms_(std::move(terms)), stride_(same ? 0 : 1) {
        for (const SeparableTerm& term : terms_) most_l2_ = std::max(most_l2_, term.l2);
    }
    const SeparableTerm& operator[](std::size_t j) const { return terms_[j * stride_]; }
    bool fit(std::size_t n) const { return stride_ == 0 || terms_.size() == n; }
    // The largest l2, which distinguishes sets of terms that are multiples of each other
    double most_l2() const { return most_l2_; }

   private:
    std::vector<SeparableTerm> terms_;
    std::size_t stride_;
    double most_l2_ = 0.0;
};

}  // namespace skpd
