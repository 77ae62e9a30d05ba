// The proximal operator and the dual norms of penalties of sum_k |w_{k+1} - w_k|. With c_k = v_1 + ... + v_k and c_0 =
// 0, v = D'q for the differences D if and only if c_d = 0 and q_k = -c_k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "data/compensated.hpp"
#include "maths/losses.hpp"

namespace skpd {

// argmin_x sum_k (x_k - y_k)^2 / 2 + weight sum_k |x_{k+1} - x_k| for y and x (n), by dynamic programming (Johnson,
// 2013) in linear time. The derivative of the least cost of x_1, ..., x_k as a function of x_k is piecewise linear and
// increasing. As a function of x_{k+1}, it is clipped to [-weight, weight]: x_k does not follow x_{k+1} below the point
// where the derivative is -weight, and above the point where it is weight.
inline std::vector<double> prox_total_variation(const double* y, double weight, std::size_t n) {
    struct Line {
        double slope = 0.0, offset = 0.0;
        double at(double x) const { return slope * x + offset; }
        double meets(double value) const { return (value - offset) / slope; }
        void add(const Line& other, double sign) {
            slope += sign * other.slope;
            offset += sign * other.offset;
        }
    };
    struct Breakpoint {
        double x;
        Line change;  // the line on its right minus the line on its left
    };
    std::vector<double> x(n), left(n), right(n);
    if (n == 0) return x;
    std::vector<Breakpoint> breakpoints(2 * n + 2);  // those with first <= k < last are in use
    std::size_t first = n, last = n;
    Line leftmost{1.0, -y[0]}, rightmost = leftmost;
    const auto beyond = [&](double level) {  // returns the line on which the function first reaches a level
        Line line = leftmost;
        for (; first < last && line.at(breakpoints[first].x) <= level; ++first)
            line.add(breakpoints[first].change, 1.0);
        return line;
    };
    for (std::size_t k = 0; k + 1 < n; ++k) {
        Line line = beyond(-weight);
        left[k] = line.meets(-weight);
        const Breakpoint from_left{left[k], {line.slope, line.offset + weight}};
        line = rightmost;
        for (; first < last && line.at(breakpoints[last - 1].x) >= weight; --last)
            line.add(breakpoints[last - 1].change, -1.0);
        right[k] = std::max(line.meets(weight), left[k]);
        breakpoints[--first] = from_left;
        breakpoints[last++] = {right[k], {-line.slope, weight - line.offset}};
        leftmost = {1.0, -weight - y[k + 1]};
        rightmost = {1.0, weight - y[k + 1]};
    }
    x[n - 1] = beyond(0.0).meets(0.0);
    for (std::size_t k = n - 1; k-- > 0;) x[k] = clip(x[k + 1], left[k], right[k]);
    return x;
}

// c_0, ..., c_d for v (d); writes the largest |c_k|.
inline std::vector<double> partial_sums(const double* v, std::size_t d, double& largest) {
    std::vector<double> sums(d + 1, 0.0);
    Compensated sum;
    largest = 0.0;
    for (std::size_t k = 0; k < d; ++k) {
        sum.add(v[k]);
        sums[k + 1] = sum.high + sum.low;
        largest = std::max(largest, std::fabs(sums[k + 1]));
    }
    return sums;
}

// sup of v.w over sum_k |w_{k+1} - w_k| <= 1 and sum_k w_k = 0, rounded up; v (d):
//   max_k |c_k - (k / d) c_d|.
// The number `error` bounds the sum of the errors of v.
inline double total_variation_dual_norm(const double* v, double error, std::size_t d) {
    double largest = 0.0, norm = 0.0;
    const std::vector<double> c = partial_sums(v, d, largest);
    for (std::size_t k = 1; k < d; ++k)
        norm = std::max(norm, std::fabs(c[k] - c[d] * (static_cast<double>(k) / static_cast<double>(d))));
    return d < 2 ? 0.0 : norm + 2.0 * error + 16.0 * unit_roundoff * largest;
}

// sup of v.w over l1 ||w||_1 + l2 sum_k |w_{k+1} - w_k| <= 1 with l1 > 0, rounded up; v (d). It is attained at a w that
// is constant on one interval and 0 outside of it:
//   max over j < k of |c_k - c_j| / ((k - j) l1 + ([j > 0] + [k < d]) l2),
// found by Dinkelbach's method (1967), which looks for a pair with a ratio above t.
inline double fused_dual_norm(const double* v, double error, std::size_t d, double l1, double l2) {
    double largest = 0.0, t = 0.0;
    const std::vector<double> c = partial_sums(v, d, largest);
    const auto number = [](std::size_t k) { return static_cast<double>(k); };
    for (std::size_t k = 1; k <= d; ++k) t = std::max(t, std::fabs(c[k]) / (number(k) * l1 + (k < d ? l2 : 0.0)));
    for (int round = 0; round < 1000; ++round) {
        double next = t;
        for (const double sign : {1.0, -1.0}) {
            std::size_t lowest = 0, from = 0, to = 0;
            double low = 0.0, best = 0.0;
            for (std::size_t k = 1; k <= d; ++k) {
                const double level = sign * c[k] - t * number(k) * l1, ends = k < d ? t * l2 : 0.0;
                if (level - ends - low > best) {
                    best = level - ends - low;
                    from = lowest;
                    to = k;
                }
                if (level + ends < low) {
                    low = level + ends;
                    lowest = k;
                }
            }
            if (to == 0) continue;
            const double ends = (from > 0 ? l2 : 0.0) + (to < d ? l2 : 0.0);
            next = std::max(next, sign * (c[to] - c[from]) / (number(to - from) * l1 + ends));
        }
        if (!(next > t)) break;
        t = next;
    }
    const double shortest = d > 1 ? std::min(l1 + l2, number(d) * l1) : l1;
    return t + (error + 16.0 * unit_roundoff * (largest + t * (number(d) * l1 + 2.0 * l2))) / shortest;
}

}  // namespace skpd
