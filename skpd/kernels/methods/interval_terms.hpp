// Terms that are linear or quadratic in pieces, between two iterations of an interior-point method
// (skpd.solvers.interior.terms.Intervals has the formulas).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace skpd {

// The largest t with x + t change >= 0.
inline double largest_step(const std::vector<double>& x, const std::vector<double>& change, double sign = 1.0) {
    double fastest = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const double ratio = sign * change[k] / x[k];
        fastest = ratio < fastest ? ratio : fastest;
    }
    return fastest < 0.0 ? -1.0 / fastest : std::numeric_limits<double>::infinity();
}

// A direction in the arguments s, the multipliers u and the slacks of the bounds of u.
struct IntervalStep {
    std::vector<double> s, u, below, above;
    explicit IntervalStep(std::size_t size, bool two_sided) : s(size), u(size), below(size), above(two_sided ? size : 0) {}
};

// sum_k c_k max over lower_k <= u <= upper_k of u s_k - q u^2 / 2, with s = sign image - offset.
class IntervalTerms {
   public:
    // The parameters of a term.
    struct Row {
        double s, sign, weight, lower, upper, width, slope;
    };

    template <class Rows>
    IntervalTerms(std::size_t size, bool two_sided, double q, double share, Rows row)
        : two_sided_(two_sided), q_(q), share_(share), s_(size), sign_(size), weights_(size), u_(size), below_(size),
          above_(two_sided ? size : 0), to_lower_(size), to_upper_(two_sided ? size : 0), h_(size), left_(size),
          shift_(size), wanted_below_(size), wanted_above_(two_sided ? size : 0) {
        for (std::size_t k = 0; k < size; ++k) {
            const Row given = row(k);
            s_[k] = given.s;
            sign_[k] = given.sign;
            weights_[k] = given.weight;
            if (two_sided) {
                u_[k] = 0.5 * (given.lower + given.upper);
                const double beside = given.s - q * u_[k];
                above_[k] = std::max(beside, 0.0) + given.width;
                below_[k] = above_[k] - beside;
                to_upper_[k] = given.upper - u_[k];
            } else {
                u_[k] = q > 0.0 ? std::max(given.s / q, given.lower) + given.width / q : given.lower + given.slope;
                below_[k] = std::max(q * u_[k] - given.s, given.width);
            }
            to_lower_[k] = u_[k] - given.lower;
        }
    }

    std::size_t size() const { return s_.size(); }

    // The derivatives of the terms in the image, and the same with weights.
    std::vector<double> multipliers() const { return signed_by([&](std::size_t k) { return u_[k]; }); }
    std::vector<double> gradient() const { return signed_by([&](std::size_t k) { return weights_[k] * u_[k]; }); }

    double products() const {
        double sum = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            double product = below_[k] * to_lower_[k];
            if (two_sided_) product += above_[k] * to_upper_[k];
            sum += weights_[k] * product;
        }
        return sum;
    }

    double products_after(const IntervalStep& step, double primal, double dual) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            double product = (below_[k] + primal * step.below[k]) * (to_lower_[k] + dual * step.u[k]);
            if (two_sided_)
                product += (above_[k] + primal * step.above[k]) * (to_upper_[k] - dual * step.u[k]);
            sum += weights_[k] * product;
        }
        return sum;
    }

    // The curvature in the image, slacks and multipliers eliminated.
    std::vector<double> factorise() {
        std::vector<double> curvature(size());
        for (std::size_t k = 0; k < size(); ++k) {
            double give = q_ + below_[k] / to_lower_[k], left = s_[k] - q_ * u_[k] + below_[k];
            if (two_sided_) {
                give += above_[k] / to_upper_[k];
                left -= above_[k];
            }
            h_[k] = 1.0 / give;
            left_[k] = left;
            curvature[k] = weights_[k] * h_[k];
        }
        return curvature;
    }

    // The change of the gradient that gives products of share * mu, for a fixed image.
    std::vector<double> shift_towards(double mu, const IntervalStep* affine) {
        const double target = share_ * mu;
        return shifted([&](std::size_t k) {
            const double corrected = affine ? affine->below[k] * affine->u[k] : 0.0;
            return target - below_[k] * to_lower_[k] - corrected;
        }, [&](std::size_t k) {
            const double corrected = affine ? affine->above[k] * affine->u[k] : 0.0;
            return target - above_[k] * to_upper_[k] + corrected;
        });
    }

    // The change of the gradient for products that do not change.
    std::vector<double> shift_in_place() {
        const auto none = [](std::size_t) { return 0.0; };
        return shifted(none, none);
    }

    IntervalStep direction(const double* image) const {
        IntervalStep step(size(), two_sided_);
        for (std::size_t k = 0; k < size(); ++k) {
            step.s[k] = sign_[k] * image[k];
            step.u[k] = h_[k] * (step.s[k] + shift_[k]);
            step.below[k] = wanted_below_[k] - below_[k] / to_lower_[k] * step.u[k];
            if (two_sided_) step.above[k] = wanted_above_[k] + above_[k] / to_upper_[k] * step.u[k];
        }
        return step;
    }

    // The longest steps of the slacks and of the multipliers that leave none negative.
    std::pair<double, double> largest_steps(const IntervalStep& step) const {
        double primal = largest_step(below_, step.below), dual = largest_step(to_lower_, step.u);
        if (two_sided_) {
            primal = std::min(primal, largest_step(above_, step.above));
            dual = std::min(dual, largest_step(to_upper_, step.u, -1.0));
        }
        return {primal, dual};
    }

    void move(const IntervalStep& step, double primal, double dual) {
        for (std::size_t k = 0; k < size(); ++k) {
            s_[k] += primal * step.s[k];
            below_[k] += primal * step.below[k];
            u_[k] += dual * step.u[k];
            to_lower_[k] += dual * step.u[k];
            if (two_sided_) {
                above_[k] += primal * step.above[k];
                to_upper_[k] -= dual * step.u[k];
            }
        }
    }

    // The terms whose slacks all fall faster than their multipliers' distances from their bounds.
    std::vector<std::uint8_t> towards_kinks(const IntervalStep& step) const {
        std::vector<std::uint8_t> found(size());
        for (std::size_t k = 0; k < size(); ++k) {
            bool at_kink = step.below[k] / below_[k] < step.u[k] / to_lower_[k];
            if (two_sided_) at_kink &= step.above[k] / above_[k] < -step.u[k] / to_upper_[k];
            found[k] = at_kink;
        }
        return found;
    }

   private:
    template <class Value>
    std::vector<double> signed_by(Value value) const {
        std::vector<double> out(size());
        for (std::size_t k = 0; k < size(); ++k) out[k] = sign_[k] * value(k);
        return out;
    }

    // The change of the gradient for given changes of the products below and above.
    template <class Below, class Above>
    std::vector<double> shifted(Below below, Above above) {
        std::vector<double> gradient(size());
        for (std::size_t k = 0; k < size(); ++k) {
            wanted_below_[k] = below(k) / to_lower_[k];
            shift_[k] = left_[k] + wanted_below_[k];
            if (two_sided_) {
                wanted_above_[k] = above(k) / to_upper_[k];
                shift_[k] -= wanted_above_[k];
            }
            gradient[k] = weights_[k] * sign_[k] * (h_[k] * shift_[k]);
        }
        return gradient;
    }

    bool two_sided_;
    double q_, share_;
    std::vector<double> s_, sign_, weights_;
    std::vector<double> u_, below_, above_, to_lower_, to_upper_;  // multipliers, slacks, distances of multipliers
    std::vector<double> h_, left_;  // of the last factorisation: curvature, residual of s
    std::vector<double> shift_, wanted_below_, wanted_above_;  // of the last shift
};

}  // namespace skpd
