// The penalties R(p) on the coordinates p (n) of a quadratic model, their derivatives, and their proximal operators,
// for Newton steps on a support.
//
// The first n_penalised coordinates have a penalty and the others have none. A coordinate that a step would take across
// a kink or a bound stops there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "maths/losses.hpp"

namespace skpd {

// R(p) = l1 |p| + l2 p^2 / 2 on [lower, upper], for one coordinate
struct SeparableTerm {
    double l1, l2, lower, upper;

    // argmin over x of (x - v)^2 / (2 step) + R(x)
    double prox(double v, double step) const {
        const double shrunk = v - clip(v, -step * l1, step * l1);
        return clip(shrunk / (1.0 + step * l2), lower, upper);
    }
    // argmin over x of curvature x^2 / 2 - slope x + R(x); curvature or l2 must be positive
    double minimiser(double curvature, double slope) const {
        return clip((slope - clip(slope, -l1, l1)) / (curvature + l2), lower, upper);
    }
    // Returns whether R is differentiable in a neighbourhood of p
    bool is_smooth_at(double p) const { return p > lower && p < upper && (p != 0.0 || l1 == 0.0); }
    // R'(p)
    double derivative(double p) const { return l2 * p + (p > 0.0 ? l1 : p < 0.0 ? -l1 : 0.0); }
    // sup of v x - R(x) over the x with R(x) <= upper
    double conjugate(double v, double upper_value) const {
        const double shrunk = v - clip(v, -l1, l1);
        if (shrunk == 0.0) return 0.0;
        double x = shrunk > 0.0 ? upper : lower;
        if (l2 > 0.0) x = clip(shrunk / l2, lower, upper);
        if (l1 > 0.0) x = clip(x, -upper_value / l1, upper_value / l1);
        return v * x - rise(0.0, x);
    }
    // Where a step between two points ends: at the first kink or bound that it would cross.
    double held(double from, double to) const {
        return clip(l1 > 0.0 && to * from < 0.0 ? 0.0 : to, lower, upper);
    }
    // R(to) - R(from) for two points on one side of the kink
    double rise(double from, double to) const {
        return l1 * (std::fabs(to) - std::fabs(from)) + 0.5 * l2 * (to - from) * (to + from);
    }
    // Returns the number of steps from p to the first kink or bound.
    double steps_to_kink(double p, double step) const {
        double bound = step > 0.0 ? upper : lower;
        if (l1 > 0.0 && p * step < 0.0) bound = 0.0;
        return (bound - p) / step;
    }
};

// The derivatives of a penalty on a support (k) where it is smooth: the first derivatives, and the second, which are
// diag(h) - u h u' in each part of the support that is a group and diag(h) without groups, with h the curvature, the
// same for the coordinates of a group, and u the unit vectors of the groups; first, curvature and unit (k).
struct Derivatives {
    std::vector<double> first, curvature, unit;
    std::vector<std::size_t> starts;  // the starts of the parts, and the end of the last one

    explicit Derivatives(std::size_t k) : first(k, 0.0), curvature(k, 0.0), unit(k, 0.0) {}

    // Returns the diagonal of the second derivative.
    double diagonal(std::size_t a) const { return curvature[a] * std::max(1.0 - unit[a] * unit[a], 0.0); }
    // M += the second derivative, in the upper triangle; row(a)[b] is entry (a, b) of M (k, k).
    template <class Upper>
    void add_to(Upper& M) const {
        for (std::size_t a = 0; a < curvature.size(); ++a) M.row(a)[a] += curvature[a];
        for (std::size_t part = 0; part + 1 < starts.size(); ++part)
            for (std::size_t a = starts[part]; a < starts[part + 1]; ++a)
                for (std::size_t b = a; b < starts[part + 1]; ++b) M.row(a)[b] -= curvature[a] * unit[a] * unit[b];
    }
    // out += the second derivative times d; d and out (k)
    void add_product(const double* d, double* out) const {
        for (std::size_t a = 0; a < curvature.size(); ++a) out[a] += curvature[a] * d[a];
        for (std::size_t part = 0; part + 1 < starts.size(); ++part) {
            double along = 0.0;
            for (std::size_t a = starts[part]; a < starts[part + 1]; ++a) along += unit[a] * d[a];
            for (std::size_t a = starts[part]; a < starts[part + 1]; ++a) out[a] -= curvature[a] * along * unit[a];
        }
    }
};

// R(p) = sum_j R_j(p_j) over the penalised coordinates, with one term for all of them or one each
class SeparableCoordinates {
   public:
    SeparableCoordinates(std::vector<SeparableTerm> terms, std::size_t n_penalised)
        : terms_(std::move(terms)), stride_(terms_.size() > 1), n_penalised_(n_penalised) {
        for (const SeparableTerm& term : terms_) max_l2_ = std::max(max_l2_, term.l2);
    }
    const SeparableTerm& operator[](std::size_t j) const { return terms_[j * stride_]; }
    std::size_t n_penalised() const { return n_penalised_; }
    // The largest l2, which distinguishes sets of terms that are multiples of each other.
    double max_l2() const { return max_l2_; }

    std::vector<std::size_t> support(const double* p, std::size_t n) const {
        std::vector<std::size_t> out;
        for (std::size_t j = 0; j < n; ++j)
            if (j >= n_penalised() || (*this)[j].is_smooth_at(p[j])) out.push_back(j);
        return out;
    }
    Derivatives derivatives(const std::vector<std::size_t>& support, const double* p) const {
        Derivatives out(support.size());
        for (std::size_t a = 0; a < support.size() && support[a] < n_penalised(); ++a) {
            const SeparableTerm& term = (*this)[support[a]];
            out.first[a] = term.derivative(p[support[a]]);
            out.curvature[a] = term.l2;
        }
        return out;
    }
    double moved(std::size_t j, double from, double change) const {
        return j < n_penalised() ? (*this)[j].held(from, from + change) : from + change;
    }
    double rise(const std::vector<std::size_t>& support, const double* p, const double* change) const {
        double sum = 0.0;
        for (std::size_t a = 0; a < support.size() && support[a] < n_penalised(); ++a)
            sum += (*this)[support[a]].rise(p[support[a]], p[support[a]] + change[a]);
        return sum;
    }
    double to_kink(std::size_t j, double from, double step) const {
        if (j >= n_penalised() || step == 0.0) return 1.0;
        return (*this)[j].steps_to_kink(from, step) * (1.0 + 1e-15);
    }

   private:
    std::vector<SeparableTerm> terms_;
    std::size_t stride_, n_penalised_;
    double max_l2_ = 0.0;
};

// R(p) = l1 ||p||_1 + sum_g weights_g ||p_g||_2 over groups of neighbouring coordinates; weights (n_groups), starts
// (n_groups + 1)
struct GroupedCoordinates {
    double l1;
    const double* weights;
    const std::int64_t* starts;
    std::size_t n_groups;

    std::size_t first(std::size_t g) const { return static_cast<std::size_t>(starts[g]); }
    std::size_t n_penalised() const { return first(n_groups); }
    double norm(std::size_t g, const double* p) const {
        double square = 0.0;
        for (std::size_t j = first(g); j < first(g + 1); ++j) square += p[j] * p[j];
        return std::sqrt(square);
    }
    std::vector<std::size_t> support(const double* p, std::size_t n) const {
        std::vector<std::size_t> out;
        for (std::size_t g = 0; g < n_groups; ++g) {
            if (norm(g, p) == 0.0) continue;
            for (std::size_t j = first(g); j < first(g + 1); ++j)
                if (l1 == 0.0 || p[j] != 0.0) out.push_back(j);
        }
        for (std::size_t j = n_penalised(); j < n; ++j) out.push_back(j);
        return out;
    }
    // Calls visit(g, begin, end) for the parts of the support that lie in one group g.
    template <class Visit>
    void for_each_group(const std::vector<std::size_t>& support, Visit visit) const {
        std::size_t a = 0;
        for (std::size_t g = 0; g < n_groups && a < support.size(); ++g) {
            const std::size_t begin = a;
            while (a < support.size() && support[a] < first(g + 1)) ++a;
            if (a > begin) visit(g, begin, a);
        }
    }
    // With u = p_g / ||p_g||, the derivatives are l1 sign(p) + weight u and (weight / ||p_g||) (I - u u').
    Derivatives derivatives(const std::vector<std::size_t>& support, const double* p) const {
        Derivatives out(support.size());
        for_each_group(support, [&](std::size_t g, std::size_t begin, std::size_t end) {
            const double size = norm(g, p);
            if (out.starts.empty()) out.starts.push_back(begin);
            out.starts.push_back(end);
            for (std::size_t a = begin; a < end; ++a) {
                const double x = p[support[a]];
                out.unit[a] = x / size;
                out.curvature[a] = weights[g] / size;
                out.first[a] = weights[g] * out.unit[a] + (x > 0.0 ? l1 : x < 0.0 ? -l1 : 0.0);
            }
        });
        return out;
    }
    double moved(std::size_t j, double from, double change) const {
        const double to = from + change;
        return j < n_penalised() && l1 > 0.0 && to * from < 0.0 ? 0.0 : to;
    }
    double rise(const std::vector<std::size_t>& support, const double* p, const double* change) const {
        double sum = 0.0;
        for_each_group(support, [&](std::size_t g, std::size_t begin, std::size_t end) {
            double square = 0.0;
            for (std::size_t j = first(g), a = begin; j < first(g + 1); ++j) {
                const double to = p[j] + (a < end && support[a] == j ? change[a++] : 0.0);
                square += to * to;
                sum += l1 * (std::fabs(to) - std::fabs(p[j]));
            }
            sum += weights[g] * (std::sqrt(square) - norm(g, p));
        });
        return sum;
    }
    // Where a group reaches its kink is not computed: the last trial of a step is a half of the one before it, 1/4.
    double to_kink(std::size_t, double, double) const { return shortest_trial; }
    static constexpr double shortest_trial = 0.125;
};

}  // namespace skpd
