// argmin of sum_i metric_i (x_i - point_i)^2 over a box and a hyperplane, and the dual norm of the sparse group lasso:
// both are roots of a monotone piecewise function of one multiplier. The first is found by median search in linear
// expected time (Zhang et al., Algorithm 8).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "maths/norms.hpp"

namespace skpd {

// The multiplier eta of the hyperplane in
//
//   minimise over lower <= x <= upper, sum_i normal_i x_i = total    sum_i metric_i (x_i - point_i)^2 / 2,
//
// whose solution is x_i = clip(point_i - eta normal_i / metric_i, lower_i, upper_i); all vectors have n entries. It is
// NaN if no x satisfies the constraints.
inline double box_hyperplane_multiplier(const double* point, const double* lower, const double* upper,
                                        const double* normal, const double* metric, double total, std::size_t n) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    // Often no bound is active, and eta is a quotient.
    double distance = -total, squares = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        distance += normal[i] * point[i];
        squares += normal[i] != 0.0 ? normal[i] * (normal[i] / metric[i]) : 0.0;
    }
    if (const double free = distance / squares; squares > 0.0 && std::isfinite(free)) {
        bool inside = true;
        for (std::size_t i = 0; i < n; ++i) {
            const double x = normal[i] != 0.0 ? point[i] - free * (normal[i] / metric[i]) : 0.0;
            inside &= normal[i] == 0.0 || (x > lower[i] && x < upper[i]);
        }
        if (inside) return free;
    }
    struct Term {
        double first, last;  // breakpoints in eta: x_i is at a bound before first and after last, and linear between
        double before, after, at_zero, slope;
    };
    std::vector<Term> terms;
    terms.reserve(n);
    double constant = -total, slope = 0.0;
    double largest = -total, smallest = -total;  // the function of eta at -inf and at +inf
    for (std::size_t i = 0; i < n; ++i) {
        const double v = normal[i];
        if (v == 0.0) continue;
        const double rate = metric[i] / v, x = point[i];
        const double start = v > 0.0 ? upper[i] : lower[i], end = v > 0.0 ? lower[i] : upper[i];
        terms.push_back({(x - start) * rate, (x - end) * rate, v * start, v * end, v * x, -v / rate});
        largest += v * start;
        smallest += v * end;
    }
    if (!(largest >= 0.0 && smallest <= 0.0)) {
        const double slack = 1e-12 * (std::fabs(largest) + std::fabs(smallest) + std::fabs(total));
        if (!(largest >= -slack && smallest <= slack)) return std::numeric_limits<double>::quiet_NaN();
    }
    double left = -inf, right = inf;
    std::vector<double> breakpoints;
    breakpoints.reserve(2 * terms.size());
    while (true) {
        breakpoints.clear();
        std::size_t kept = 0;
        for (const Term& term : terms) {  // terms that are linear on all of (left, right) are added up
            if (term.last <= left) constant += term.after;
            else if (term.first >= right) constant += term.before;
            else if (term.first <= left && term.last >= right) {
                constant += term.at_zero;
                slope += term.slope;
            } else {
                if (term.first > left && term.first < right) breakpoints.push_back(term.first);
                if (term.last > left && term.last < right) breakpoints.push_back(term.last);
                terms[kept++] = term;
            }
        }
        terms.resize(kept);
        if (breakpoints.empty()) break;
        const auto middle = breakpoints.begin() + static_cast<std::ptrdiff_t>(breakpoints.size() / 2);
        std::nth_element(breakpoints.begin(), middle, breakpoints.end());
        const double eta = *middle;
        double value = constant + slope * eta;
        for (const Term& term : terms)
            value += eta <= term.first ? term.before
                                       : (eta >= term.last ? term.after : term.at_zero + term.slope * eta);
        if (value == 0.0) return eta;
        (value > 0.0 ? left : right) = eta;
    }
    if (slope == 0.0) return std::isfinite(left) ? left : (std::isfinite(right) ? right : 0.0);
    return std::clamp(-constant / slope, left, right);
}

// The dual norm of l1_ratio ||.||_1 + (1 - l1_ratio) weight ||.||_2 at x (n), which is the least lambda with
//   || soft(x, lambda l1_ratio) ||_2 <= lambda (1 - l1_ratio) weight.
// It is rounded up: the closed form is checked against this inequality and raised until it holds.
inline double sparse_group_dual_norm(const double* x, std::size_t n, double l1_ratio, double weight) {
    constexpr double eps = std::numeric_limits<double>::epsilon();
    std::vector<double> sorted(n);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = std::fabs(x[i]);
    std::sort(sorted.begin(), sorted.end(), std::greater<double>());
    if (n == 0 || sorted[0] == 0.0) return 0.0;
    const double unit = sorted[0];
    for (double& a : sorted) a /= unit;  // squares of these neither underflow nor overflow
    const double ridge = (1.0 - l1_ratio) * weight;

    const auto norm_above = [&](double threshold) {
        Compensated square;
        for (const double a : sorted) {
            if (a <= threshold) break;
            square.add_product(a - threshold, a - threshold);
        }
        return std::sqrt(square.high + square.low);
    };
    // The norm is at least each of its two terms, so that its dual norm is at most the dual norm of each.
    const double upper_bound = std::min(l1_ratio > 0.0 ? 1.0 / l1_ratio : std::numeric_limits<double>::infinity(),
                                 ridge > 0.0 ? norm_above(0.0) / ridge : std::numeric_limits<double>::infinity());
    double lambda = upper_bound, mean = 0.0, spread = 0.0, sum_squares = 0.0;
    for (std::size_t k = 1; k <= n; ++k) {
        const double a = sorted[k - 1], next = k < n ? sorted[k] : 0.0, count = static_cast<double>(k);
        const double change = a - mean;
        mean += change / count;
        spread += change * (a - mean);  // the sum of squares about the mean (Welford, 1962)
        sum_squares += a * a;
        // If lambda l1_ratio lies in [next, a], the first k entries are active and lambda solves
        //   sum_squares - 2 lambda l1_ratio k mean + lambda^2 (k l1_ratio^2 - ridge^2) = 0,
        // whose discriminant is ridge^2 sum_squares - l1_ratio^2 k spread.
        const double root = std::sqrt(std::max(ridge * ridge * sum_squares - l1_ratio * l1_ratio * count * spread, 0.0));
        const double candidate = sum_squares / (l1_ratio * count * mean + root);
        if (candidate * l1_ratio >= next) {
            if (candidate > 0.0 && candidate < upper_bound) lambda = candidate;
            break;
        }
    }
    for (double growth = 4.0 * eps; lambda < upper_bound; growth *= 2.0) {
        if (norm_above(lambda * l1_ratio * (1.0 - 2.0 * eps)) * (1.0 + 8.0 * eps) <= lambda * ridge) break;
        lambda *= 1.0 + growth;
    }
    return std::max(std::min(lambda, upper_bound) * unit * (1.0 + 8.0 * eps),
                    std::numeric_limits<double>::denorm_min());
}

}  // namespace skpd
