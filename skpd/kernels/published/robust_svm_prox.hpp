// The single-sample proximal update of the distributionally robust SVM (Li, Chen and So, 2020), for w, w0 and z (d):
//
//   minimise over w, lam, b    max(1 - m, 1 + m - kappa lam, 0)
//                              + (||w - w0||^2 + (lam - lam0)^2 + (b - b0)^2) / (2 step)
//   subject to                 ||w||_q <= aperture lam,      m = z.w + one b.
//
// With multipliers p, r >= 0, p + r <= 1 of the first two pieces, its solution is the projection onto the epigraph of
//
//   (w0 + step (p - r) z, lam0 + step kappa r),    b = b0 + step (p - r) one,
//
// and (p, r) lies at a corner of this triangle (one piece active), on an edge (two) or inside (three). The cases are
// tried one after the other, each with the conditions under which it is optimal (Table 6 for q = 2, Algorithm 2 for q =
// 1 and inf); the multipliers on the edges and inside are found by the modified secant search of Algorithm 1. If all
// conditions fail by rounding at a kink, the candidate with the least objective is the solution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "data/layouts.hpp"
#include "maths/epigraph.hpp"

namespace skpd {

// p and r are the multipliers of the first two pieces.
struct ProxResult {
    double p = 0.0, r = 0.0;
};

// The parameters of the problem of one row, which all norms share.
struct ProxRow {
    double step, kappa, aperture, lam0, b0, one;
    bool flips() const { return std::isfinite(kappa); }
};

// The root in [0, 1] of a non-increasing function whose values at the ends are at_zero > 0 > at_one, by a modified
// secant search (Dai and Fletcher, 2006; Algorithm 1 of Li, Chen and So).
template <class Function, class Tolerance>
double secant_root(Function function, double at_zero, double at_one, Tolerance tol) {
    // The r of the paper is minus the function.
    double low = 0.0, r_low = -at_zero, high = 1.0, r_high = -at_one;
    double s = 1.0 - r_low / r_high, x = high - (high - low) / s;
    for (int iteration = 0; iteration < 200; ++iteration) {
        const double r = -function(x);
        if (std::fabs(r) <= tol() || high - low <= 1e-16 * high) return x;
        const bool above = r > 0.0, by_secant = above ? s <= 2.0 : s >= 2.0;
        double &end = above ? high : low, &r_end = above ? r_high : r_low;
        const double change = (x - end) / std::max(r_end / r - 1.0, 0.1);
        end = x, r_end = r;
        if (by_secant) {
            s = 1.0 - r_low / r_high;
            x = high - (high - low) / s;
        } else {
            x = above ? std::max(end + change, 0.6 * low + 0.4 * high) : std::min(end + change, 0.6 * high + 0.4 * low);
            s = (high - low) / (high - x);
        }
        if (!(x > low && x < high)) x = 0.5 * (low + high);
    }
    return x;
}

// Tries the cases on trial points: trial.at(p, r) moves to the projection for (p, r), and trial.inside(t) to the point
// with all pieces active and p - r = t. Afterwards m, lam and objective() are those of the point.
template <class Trial>
ProxResult prox_cases(Trial& trial, const ProxRow& row, ProxResult before) {
    const double kappa = row.kappa;
    ProxResult best;
    double min_objective = std::numeric_limits<double>::infinity();
    // Keeps the trial point if it is optimal or the best one so far; returns `optimal`.
    const auto keep = [&](double p, double r, bool optimal) {
        const double value = trial.objective();
        if (optimal || value < min_objective) {
            min_objective = value;
            best = {p, r};
            trial.store();
        }
        return optimal;
    };
    const auto first = [&] { return 1.0 - trial.m; };
    const auto second = [&] { return row.flips() ? 1.0 + trial.m - kappa * trial.lam : -1.0; };
    const auto tol = [&] { return 1e-13 * (1.0 + std::fabs(trial.m) + (row.flips() ? kappa * trial.lam : 0.0)); };

    // One piece is active: the corners, of which the one of the last visit of this row comes first. Piece 0 is the last
    // one, the constant 0.
    const bool started_one = before.p == 1.0, started_two = before.r == 1.0;
    double firsts[3] = {}, seconds[3] = {0.0, 0.0, -1.0};
    const auto corner = [&](int piece) {
        if (piece == 2 && !row.flips()) return false;
        const double p = piece == 1 ? 1.0 : 0.0, r = piece == 2 ? 1.0 : 0.0;
        trial.at(p, r);
        const double a = firsts[piece] = first(), b = seconds[piece] = second();
        if (piece == 0) return keep(p, r, a <= 0.0 && b <= 0.0);
        return keep(p, r, piece == 1 ? a >= 0.0 && a >= b : b >= 0.0 && b >= a);
    };
    if ((started_one && corner(1)) || (started_two && corner(2)) || corner(0)) return best;
    if ((!started_one && corner(1)) || (!started_two && corner(2))) return best;
    const auto [first_none, first_one, first_two] = firsts;
    const auto [second_none, second_one, second_two] = seconds;

    // Two pieces are active: the edges, along each of which one function decreases.
    const auto search = [&](auto at, auto gap, double at_zero, double at_one) {
        if (!(at_zero > 0.0 && at_one < 0.0)) return -1.0;
        const auto function = [&](double x) {
            at(x);
            return gap();
        };
        const double x = secant_root(function, at_zero, at_one, tol);
        function(x);
        return x;
    };
    double x = search([&](double s) { trial.at(s, 0.0); }, first, first_none, first_one);
    if (x >= 0.0 && keep(x, 0.0, second() <= tol())) return best;
    if (!row.flips()) return best;
    x = search([&](double s) { trial.at(0.0, s); }, second, second_none, second_two);
    if (x >= 0.0 && keep(0.0, x, first() <= tol())) return best;
    x = search([&](double s) { trial.at(1.0 - s, s); }, [&] { return second() - first(); },
               second_one - first_one, second_two - first_two);
    if (x >= 0.0 && keep(1.0 - x, x, first() >= -tol())) return best;

    // All three pieces are active: m = 1 and lam = 2 / kappa.
    const auto level = [&](double s) {
        trial.inside(1.0 - 2.0 * s);
        return trial.m - 1.0;
    };
    const double at_zero = level(0.0), at_one = level(1.0);
    if (at_zero >= 0.0 && at_one <= 0.0) {
        const double s = at_zero == 0.0 ? 0.0 : (at_one == 0.0 ? 1.0 : secant_root(level, at_zero, at_one, tol));
        level(s);
        // r kappa step is the change of lam minus the share of the cone.
        const double t = 1.0 - 2.0 * s, r = std::clamp(trial.flipped(t), std::max(0.0, -t), 0.5 * (1.0 - t));
        keep(r + t, r, false);
    }
    return best;
}

// Trial points with vectors of coefficients w (d), for q = 1 and inf.
template <class Epigraph>
struct VectorTrial {
    const MajorVectors& matrix;
    std::size_t i, d;
    double sign;
    const ProxRow& row;
    const double* w0;
    std::vector<double>&w, &best_w;
    double m = 0.0, lam = 0.0, b = 0.0, best_lam = 0.0, best_b = 0.0;

    void shift(double t) {
        std::copy_n(w0, d, w.data());
        if (t != 0.0) matrix.axpy(i, row.step * t * sign, w.data());
        b = row.b0 + row.step * t * row.one;
    }
    void update_margin() { m = sign * matrix.dot(i, w.data()) + row.one * b; }
    void at(double p, double r) {
        shift(p - r);
        const double s = row.lam0 + (r > 0.0 ? row.step * row.kappa * r : 0.0);
        lam = Epigraph::project(w.data(), d, s, row.aperture);
        update_margin();
    }
    void inside(double t) {
        shift(t);
        lam = 2.0 / row.kappa;
        Epigraph::project_ball(w.data(), d, row.aperture * lam);
        update_margin();
    }
    // The r for which the projection at (r + t, r) has lam = 2 / kappa, by bisection, as lam increases in r.
    double flipped(double t) {
        double low = std::max(0.0, -t), high = 0.5 * (1.0 - t);
        const double target = 2.0 / row.kappa;
        std::vector<double> keep_w = w;
        const double keep_m = m, keep_lam = lam, keep_b = b;
        for (int k = 0; k < 60; ++k) {
            const double middle = 0.5 * (low + high);
            at(middle + t, middle);
            (lam < target ? low : high) = middle;
        }
        w = keep_w, m = keep_m, lam = keep_lam, b = keep_b;
        return 0.5 * (low + high);
    }
    double objective() const {
        double square = (lam - row.lam0) * (lam - row.lam0) + (b - row.b0) * (b - row.b0);
        for (std::size_t j = 0; j < d; ++j) square += (w[j] - w0[j]) * (w[j] - w0[j]);
        const double flipped_loss = row.flips() ? 1.0 + m - row.kappa * lam : 0.0;
        return std::max({1.0 - m, flipped_loss, 0.0}) + square / (2.0 * row.step);
    }
    void store() {
        best_w = w;
        best_lam = lam, best_b = b;
    }
};

// For q = 2 all trial points are w = factor (w0 + shift z), so that numbers represent them: A = ||w0||^2, B = ||z||^2,
// C = w0.z.
struct PlaneTrial {
    double A, B, C;
    const ProxRow& row;
    double m = 0.0, lam = 0.0, b = 0.0, factor = 1.0, shift = 0.0;
    double best_lam = 0.0, best_b = 0.0, best_factor = 1.0, best_shift = 0.0;

    double norm() const { return std::sqrt(std::max(A + shift * (2.0 * C + shift * B), 0.0)); }
    void update_margin() { m = factor * (C + shift * B) + row.one * b; }
    void at(double p, double r) {
        shift = row.step * (p - r);
        b = row.b0 + shift * row.one;
        const double s = row.lam0 + (r > 0.0 ? row.step * row.kappa * r : 0.0);
        const auto [size, radius] = L2Epigraph::scales(norm(), s, row.aperture);
        factor = size, lam = radius;
        update_margin();
    }
    void inside(double t) {
        shift = row.step * t;
        b = row.b0 + shift * row.one;
        lam = 2.0 / row.kappa;
        const double size = norm();
        factor = size > row.aperture * lam ? row.aperture * lam / size : 1.0;
        update_margin();
    }
    double flipped(double) const {
        // lam = (s + aperture size) / (1 + aperture^2) if the constraint is active, and lam = s otherwise.
        double s = 2.0 / row.kappa;
        if (factor < 1.0) s = s * (1.0 + row.aperture * row.aperture) - row.aperture * norm();
        return (s - row.lam0) / (row.step * row.kappa);
    }
    double objective() const {
        // w - w0 = (factor - 1) w0 + factor shift z
        const double u = factor - 1.0, v = factor * shift;
        const double square = u * u * A + 2.0 * u * v * C + v * v * B + (lam - row.lam0) * (lam - row.lam0) +
                              (b - row.b0) * (b - row.b0);
        const double flipped_loss = row.flips() ? 1.0 + m - row.kappa * lam : 0.0;
        return std::max({1.0 - m, flipped_loss, 0.0}) + square / (2.0 * row.step);
    }
    void store() { best_lam = lam, best_b = b, best_factor = factor, best_shift = shift; }
};

}  // namespace skpd
