// Half the unit deviances l(y, z) of counts and costs, as functions of a target y >= 0 and of z, the logarithm of the
// mean. Every function is of one row.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "maths/losses.hpp"

namespace skpd {

// The Tweedie family of a power from 1 (Poisson) to 2 (gamma), with a = 2 - power and b = power - 1:
//
//   l(y, z) = s phi(z - log y),   s = y^a,   phi(r) = (e^(a r) - 1) / a + (e^(-b r) - 1) / b,   for y > 0,
//   l(0, z) = e^(a z) / a,
//
// where a quotient with 0 is its limit, r or -r. Functions of s and r take s = 0 and r = z if y = 0.
enum class Variance { mean, square, other };  // the variance is proportional to the mean, its square, or another power

template <Variance variance>
struct DevianceLoss {
    static constexpr bool margin = false, quadratic_pieces = false;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    double a, b;

    explicit DevianceLoss(double power) : a(2.0 - power), b(power - 1.0) {}

    // up = e^(a r), down = e^(-b r), minus_one = e^-|r| - 1
    struct Powers {
        double up, down, minus_one;
    };
    SKPD_INLINE Powers powers(double r) const {
        const Exponential e = exponential_minus_abs(r);
        if constexpr (variance == Variance::mean) return {r < 0.0 ? e.value : 1.0 / e.value, 1.0, e.minus_one};
        if constexpr (variance == Variance::square) return {1.0, r < 0.0 ? 1.0 / e.value : e.value, e.minus_one};
        const double ea = exp_minus_abs(a * r), eb = exp_minus_abs(b * r);
        return {r < 0.0 ? ea : 1.0 / ea, r < 0.0 ? 1.0 / eb : eb, e.minus_one};
    }
    // phi'(r) = e^(a r) - e^(-b r), since a + b = 1
    SKPD_INLINE static double slope(const Powers& p, double r) {
        return r < 0.0 ? p.down * p.minus_one : -p.up * p.minus_one;
    }
    // e^x - 1 - x without cancellation, where power is e^x
    SKPD_INLINE static double above_tangent(double x, double power) {
        double sum = 1.0 / 6402373705728000.0, factorial = 355687428096000.0;  // 1 / 18! and 17!
        for (int k = 17; k > 1; --k) {
            sum = sum * x + 1.0 / factorial;
            factorial /= k;
        }
        return std::fabs(x) < 1.0 ? sum * x * x : (power - 1.0) - x;
    }
    // phi(r)
    SKPD_INLINE double phi(const Powers& p, double r) const {
        if constexpr (variance == Variance::mean) return above_tangent(r, p.up);
        if constexpr (variance == Variance::square) return above_tangent(-r, p.down);
        return above_tangent(a * r, p.up) / a + above_tangent(-b * r, p.down) / b;
    }
    // s phi(r), or e^(a r) / a if s = 0, bounded from above: powers above e^708 are inf
    SKPD_INLINE double value(double s, double r) const {
        const Powers p = powers(r);
        const double exponent = s > 0.0 ? std::max(a * r, -b * r) : a * r;
        return exponent > 708.0 ? infinity : s > 0.0 ? s * phi(p, r) : p.up / a;
    }
    // s phi'(r), or e^(a r) if y = s = 0, and their derivative in r
    SKPD_INLINE double first(bool positive, double s, const Powers& p, double r) const {
        return positive ? s * slope(p, r) : p.up;
    }
    SKPD_INLINE double second(bool positive, double s, const Powers& p) const {
        return positive ? s * (a * p.up + b * p.down) : a * p.up;
    }
    SKPD_INLINE double derivative(double s, double r) const { return first(s > 0.0, s, powers(r), r); }
    SKPD_INLINE Expansion at(double y, double z) const {
        const bool positive = y > 0.0;
        const double log_y = log_or_0(y), r = z - log_y, s = scale(y, log_y);
        const Powers p = powers(r);
        const double value = positive ? s * phi(p, r) : p.up / a, slope = first(positive, s, p, r);
        return {value, slope, second(positive, s, p), slope * z - value};
    }

    // l*(y, theta) - theta log y, rounded up; inf outside its domain. It is s phi*(u) for u = theta / s, where phi*(u)
    // = (1 + u) log(1 + u) - u for a = 1, and the same of -u for b = 1.
    double conjugate_without_log_term(double s, double theta) const {
        if (s == 0.0) return theta < 0.0 ? infinity : theta > 0.0 ? (theta * std::log(theta) - theta) / a : 0.0;
        if constexpr (variance == Variance::mean) return entropy(s, theta);
        if constexpr (variance == Variance::square) return entropy(s, -theta);
        return s * above_conjugate(theta / s);
    }
    double conjugate(double y, double theta) const {
        const double log_y = log_or_0(y);
        return conjugate_without_log_term(scale(y, log_y), theta) + theta * log_y;
    }

    // With d = v - step log y and r = z - log y, the optimality condition is s phi'(r) + step r = d.
    double prox_conjugate(double y, double v, double step) const {
        if (step <= 0.0) return std::max(v, b > 0.0 && y > 0.0 ? -infinity : -y);
        const double log_y = log_or_0(y), s = scale(y, log_y), d = v - step * log_y;
        double low = std::min(d, 0.0) / step, high = std::max(d, 0.0) / step;
        if (s > 0.0) {  // s phi'(r) reaches d at the latest where one of its two powers is 1 + |d| / s
            if (a > 0.0) high = std::min(high, std::log1p(std::max(d, 0.0) / s) / a);
            if (b > 0.0) low = std::max(low, -std::log1p(std::max(-d, 0.0) / s) / b);
        } else if (v < 1.0) {  // e^(a z) is at most 1 for z <= 0
            low = (v - 1.0) / step;
            high = std::min(high, 0.0);
        } else {
            high = std::min(high, std::log(v) / a);
        }
        const auto condition = [&](double r) {
            const Powers p = powers(r);
            return std::pair{first(s > 0.0, s, p, r) + step * r - d, second(s > 0.0, s, p) + step};
        };
        const double r = increasing_root(low, high, d / (s + step), condition);
        // Both expressions are the same number; the one with the smaller slope in r is more accurate.
        if (condition(r).second - step <= step) return derivative(s, r);
        return std::max(d - step * r, s > 0.0 && b > 0.0 ? -infinity : -s);
    }

   private:
    SKPD_INLINE static double log_or_0(double y) { return y > 0.0 ? log_positive(y) : 0.0; }
    // s = y^a
    SKPD_INLINE double scale(double y, double log_y) const {
        if constexpr (variance == Variance::mean) return y;
        if constexpr (variance == Variance::square) return 1.0;
        const double power = exp_minus_abs(a * log_y);
        return y == 0.0 ? 0.0 : log_y < 0.0 ? power : 1.0 / power;
    }
    // (s + u) log(1 + u / s) - u
    static double entropy(double s, double u) {
        const double total = s + u;
        if (total < 0.0) return infinity;
        if (total == 0.0) return s;
        return total * (u < -0.5 * s ? std::log(total / s) : std::log1p(u / s)) - u;
    }
    // An upper bound on phi*(u) that is as near as rounding allows. For any r it is u r - phi(r) plus d = |phi'(r) - u|
    // times the distance of r to the optimum. This distance is at most e d / phi''(r) if that is at most 1, since log
    // phi'' changes by at most the change of r.
    double above_conjugate(double u) const {
        constexpr double roundings = 16.0 * std::numeric_limits<double>::epsilon();
        const double low = std::min(0.0, -std::log1p(std::max(-u, 0.0)) / b);
        const double high = std::max(0.0, std::log1p(std::max(u, 0.0)) / a);
        const double r = increasing_root(low, high, u, [&](double t) {
            const Powers p = powers(t);
            return std::pair{slope(p, t) - u, second(true, 1.0, p)};
        });
        const Powers p = powers(r);
        const double at_r = slope(p, r), value = phi(p, r);
        const double d = std::fabs(at_r - u) + roundings * (std::fabs(at_r) + std::fabs(u));
        const double change = 2.72 * d / second(true, 1.0, p);
        if (!(change <= 1.0)) return infinity;
        return u * r - value + d * change + roundings * (std::fabs(u * r) + value);
    }
};

// Half the unit deviance of the negative binomial distribution whose variance is mean + mean^2 / k:
//   l(y, z) = y log(1 + e^-t) + k log(1 + e^t) - min_t (the same),    t = z - log k.
struct NegativeBinomialLoss {
    static constexpr bool margin = false, quadratic_pieces = false;
    double k, log_k;

    explicit NegativeBinomialLoss(double k) : k(k), log_k(std::log(k)) {}

    SKPD_INLINE Expansion at(double y, double z) const {
        const double t = z - log_k, e = exp_minus_abs(t), log_term = log1p_unit(e);
        const double total = y + k, small = std::min(y, k), large = std::max(y, k);
        const double min_value =
            large * log1p_unit(small / large) - (small > 0.0 ? small * log_positive(small / total) : 0.0);
        const double value = y * (std::max(-t, 0.0) + log_term) + k * (std::max(t, 0.0) + log_term) - min_value;
        const double above = (t < 0.0 ? e : 1.0) / (1.0 + e), below = (t < 0.0 ? 1.0 : e) / (1.0 + e);
        const double first = k * above - y * below;
        return {value, first, total * above * below, first * z - value};
    }
    double conjugate(double y, double theta) const {
        const double up = y + theta, down = k - theta;
        if (up < 0.0 || down < 0.0) return std::numeric_limits<double>::infinity();
        return theta * log_k + (entropy(up, down) - entropy(y, k));
    }
    double prox_conjugate(double y, double v, double step) const {
        if (step <= 0.0) return clip(v, -y, k);
        const double low = (v - k) / step, high = (v + y) / step;
        const double z = increasing_root(low, high, log_k, [&](double x) {
            const Expansion expansion = at(y, x);
            return std::pair{expansion.derivative + step * x - v, expansion.second_derivative + step};
        });
        return at(y, z).derivative;
    }

   private:
    // x log(x / (x + y)) + y log(y / (x + y))
    static double entropy(double x, double y) {
        const double small = std::min(x, y), share = small / (x + y);
        return (small > 0.0 ? small * std::log(share) : 0.0) + std::max(x, y) * std::log1p(-share);
    }
};

}  // namespace skpd
