// The terms  sum_k c_k max over lower_k <= u <= upper_k of u s_k - q u^2 / 2,  s = sign * image - offset,  between two
// iterations of an interior-point method; all vectors have n entries. `skpd.solvers.interior.terms.Intervals` derives
// the formulas. A bound of u with sign 1 (lower) or -1 (upper) has slacks and distances
//
//   distance = sign (u - bound) > 0,    s - q u + sum over the bounds of sign slack = 0,    slack distance = mu.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace skpd {

// The largest t with x + t sign change >= 0; x and change (n), x > 0
inline double largest_step(const std::vector<double>& x, const std::vector<double>& change, double sign = 1.0) {
    double fastest = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const double ratio = sign * change[k] / x[k];
        fastest = ratio < fastest ? ratio : fastest;
    }
    return fastest < 0.0 ? -1.0 / fastest : std::numeric_limits<double>::infinity();
}

// A direction in the arguments s (n), the multipliers u (n) and the slacks (n) of each bound of u.
struct IntervalStep {
    std::vector<double> s, u;
    std::vector<std::vector<double>> slacks;
    IntervalStep(std::size_t size, std::size_t n_bounds) : s(size), u(size), slacks(n_bounds, std::vector<double>(size)) {}
};

// The parameters of n terms; upper is null if there is no upper bound.
struct IntervalRows {
    const double *s, *sign, *weights, *lower, *upper, *width, *slope;
};

// The terms are kept at one iterate (s, u, slacks).
class IntervalTerms {
   public:
    // Starts at the arguments s, with slacks of at least width; where there are no upper bounds, u starts from slope or
    // from s / q.
    IntervalTerms(std::size_t size, const IntervalRows& rows, double q, double share)
        : q_(q), share_(share), s_(rows.s, rows.s + size), sign_(rows.sign, rows.sign + size),
          weights_(rows.weights, rows.weights + size), u_(size), h_(size), residual_(size), shift_(size),
          bounds_(1, Bound(1.0, size)) {
        if (rows.upper) bounds_.emplace_back(-1.0, size);
        for (std::size_t k = 0; k < size; ++k) {
            const double s = s_[k], lower = rows.lower[k], width = rows.width[k];
            if (rows.upper) {
                const double upper = rows.upper[k];
                u_[k] = 0.5 * (lower + upper);
                const double difference = s - q * u_[k];
                bounds_[1].slack[k] = std::max(difference, 0.0) + width;
                bounds_[0].slack[k] = bounds_[1].slack[k] - difference;
                bounds_[1].distance[k] = upper - u_[k];
            } else {
                u_[k] = q > 0.0 ? std::max(s / q, lower) + width / q : lower + rows.slope[k];
                bounds_[0].slack[k] = std::max(q * u_[k] - s, width);
            }
            bounds_[0].distance[k] = u_[k] - lower;
        }
    }

    std::size_t size() const { return s_.size(); }

    // sign * u, the derivatives of the terms in the image, and sign * c * u, those times the weights
    std::vector<double> multipliers() const { return signed_by([&](std::size_t k) { return u_[k]; }); }
    std::vector<double> gradient() const { return signed_by([&](std::size_t k) { return weights_[k] * u_[k]; }); }

    // sum_k c_k sum over the bounds of slack_k distance_k
    double products() const {
        return weighted_sum([&](std::size_t k, std::size_t b) { return bounds_[b].slack[k] * bounds_[b].distance[k]; });
    }

    // The same sum after a step of length primal in s and the slacks, and of length dual in u.
    double products_after(const IntervalStep& step, double primal, double dual) const {
        return weighted_sum([&](std::size_t k, std::size_t b) {
            return (bounds_[b].slack[k] + primal * step.slacks[b][k]) *
                   (bounds_[b].distance[k] + bounds_[b].sign * dual * step.u[k]);
        });
    }

    // c / (q + sum over the bounds of slack / distance), the curvature in the image after the elimination of slacks and
    // multipliers
    std::vector<double> factorise() {
        std::vector<double> inverse_curvature(size(), q_);
        for (std::size_t k = 0; k < size(); ++k) residual_[k] = s_[k] - q_ * u_[k];
        for (const Bound& bound : bounds_)
            for (std::size_t k = 0; k < size(); ++k) {
                inverse_curvature[k] += bound.slack[k] / bound.distance[k];
                residual_[k] += bound.sign * bound.slack[k];
            }
        for (std::size_t k = 0; k < size(); ++k) h_[k] = 1.0 / inverse_curvature[k];
        std::vector<double> curvature(size());
        for (std::size_t k = 0; k < size(); ++k) curvature[k] = weights_[k] * h_[k];
        return curvature;
    }

    // sign * c * h * shift, the change of the gradient for a fixed image that makes all products slack distance equal
    // to share * mu, less the second-order term of the affine step if that is given; without mu the products keep their
    // values.
    std::vector<double> shift(std::optional<double> mu, const IntervalStep* affine) {
        shift_ = residual_;
        for (std::size_t b = 0; b < bounds_.size(); ++b) {
            Bound& bound = bounds_[b];
            for (std::size_t k = 0; k < size(); ++k) {
                const double corrected = affine ? bound.sign * affine->slacks[b][k] * affine->u[k] : 0.0;
                const double change = mu ? share_ * *mu - bound.slack[k] * bound.distance[k] - corrected : 0.0;
                bound.slack_change[k] = change / bound.distance[k];
                shift_[k] += bound.sign * bound.slack_change[k];
            }
        }
        return signed_by([&](std::size_t k) { return weights_[k] * (h_[k] * shift_[k]); });
    }

    // The direction of s, u and the slacks that goes with a direction of the image.
    IntervalStep direction(const double* image) const {
        IntervalStep step(size(), bounds_.size());
        for (std::size_t k = 0; k < size(); ++k) {
            step.s[k] = sign_[k] * image[k];
            step.u[k] = h_[k] * (step.s[k] + shift_[k]);
        }
        for (std::size_t b = 0; b < bounds_.size(); ++b)
            for (std::size_t k = 0; k < size(); ++k)
                step.slacks[b][k] = bounds_[b].slack_change[k] -
                                    bounds_[b].sign * bounds_[b].slack[k] / bounds_[b].distance[k] * step.u[k];
        return step;
    }

    // The largest lengths (primal, dual) for which no slack and no distance becomes negative
    std::pair<double, double> largest_steps(const IntervalStep& step) const {
        double primal = std::numeric_limits<double>::infinity(), dual = primal;
        for (std::size_t b = 0; b < bounds_.size(); ++b) {
            primal = std::min(primal, largest_step(bounds_[b].slack, step.slacks[b]));
            dual = std::min(dual, largest_step(bounds_[b].distance, step.u, bounds_[b].sign));
        }
        return {primal, dual};
    }

    // Takes a step of length primal in s and the slacks, and of length dual in u.
    void move(const IntervalStep& step, double primal, double dual) {
        for (std::size_t k = 0; k < size(); ++k) {
            s_[k] += primal * step.s[k];
            u_[k] += dual * step.u[k];
        }
        for (std::size_t b = 0; b < bounds_.size(); ++b)
            for (std::size_t k = 0; k < size(); ++k) {
                bounds_[b].slack[k] += primal * step.slacks[b][k];
                bounds_[b].distance[k] += bounds_[b].sign * dual * step.u[k];
            }
    }

    // Whether, for all bounds, d slack / slack < d distance / distance along the step: the slack vanishes and the
    // multiplier stays away from the bound.
    std::vector<std::uint8_t> towards_kinks(const IntervalStep& step) const {
        std::vector<std::uint8_t> flags(size(), true);
        for (std::size_t b = 0; b < bounds_.size(); ++b)
            for (std::size_t k = 0; k < size(); ++k)
                flags[k] &= step.slacks[b][k] / bounds_[b].slack[k] <
                            bounds_[b].sign * step.u[k] / bounds_[b].distance[k];
        return flags;
    }

   private:
    // sum_k c_k sum_b product(k, b) over the bounds b
    template <class Product>
    double weighted_sum(Product product) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            double of_bounds = 0.0;
            for (std::size_t b = 0; b < bounds_.size(); ++b) of_bounds += product(k, b);
            sum += weights_[k] * of_bounds;
        }
        return sum;
    }
    template <class Value>
    std::vector<double> signed_by(Value value) const {
        std::vector<double> out(size());
        for (std::size_t k = 0; k < size(); ++k) out[k] = sign_[k] * value(k);
        return out;
    }

    // A bound of the multipliers u, which is below them (sign 1) or above (-1)
    struct Bound {
        double sign;
        std::vector<double> slack, distance, slack_change;  // slack_change is that of the last shift
        Bound(double sign, std::size_t size) : sign(sign), slack(size), distance(size), slack_change(size) {}
    };

    double q_, share_;
    std::vector<double> s_, sign_, weights_, u_;
    std::vector<double> h_, residual_;  // curvature and residual of s at the last factorisation
    std::vector<double> shift_;  // the residual of s after the last shift
    std::vector<Bound> bounds_;  // the lower bound, followed by the upper one if there is one
};

}  // namespace skpd
