// The shares of cutting planes with half a squared norm, by a primal active-set method:
//
//   minimise over a (n) >= 0    a'H a / 2 - e.a    with sum_k a_k = 1 and, if there are slopes s (n), s.a = 0
//
// H (n, n) is positive definite. The multipliers t and b of the constraints satisfy (H a)_k - e_k + t + b s_k >= 0,
// with equality where a_k > 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "maths/norms.hpp"
#include "maths/small_system.hpp"
#include "methods/penalised_quadratic.hpp"

namespace skpd {

struct PlaneShares {
    using Rows = std::array<std::vector<double>, 2>;  // of the constraints, on the active planes

    std::size_t n;
    const double *H, *e, *slopes;  // slopes may be null
    double *a;
    double accuracy, least_share;  // of excesses of planes above the maximum, and of shares other than 0
    static constexpr int most_refinements = 5;
    static constexpr double largest_miss = 1e-8;  // of the sum of the shares, with planes that cannot satisfy s.a = 0
    static constexpr double infinite = std::numeric_limits<double>::infinity();
    std::array<double, 2> multipliers{};
    SupportSystem system{};
    std::vector<double> best{};  // the shares of the active planes that minimise, of any sign

    // Moves the shares to the minimum; returns false if the active set does not settle, because of rounding.
    bool minimise(int max_steps) {
        std::vector<std::size_t> active;
        for (std::size_t k = 0; k < n; ++k)
            if (a[k] > 0.0) active.push_back(k);
        system.name(nullptr, 0, n);
        for (int step = 0; step < max_steps; ++step) {
            if (!solve(active)) return false;
            std::size_t leaving = active.size();
            double length = 1.0;
            for (std::size_t i = 0; i < active.size(); ++i) {
                const double share = a[active[i]];
                if (best[i] < 0.0 && share < length * (share - best[i])) {
                    length = share / (share - best[i]);
                    leaving = i;
                }
            }
            for (std::size_t i = 0; i < active.size(); ++i) a[active[i]] += length * (best[i] - a[active[i]]);
            if (leaving < active.size() && active.size() > 1) {
                a[active[leaving]] = 0.0;
                active.erase(active.begin() + static_cast<std::ptrdiff_t>(leaving));
                continue;
            }
            const auto [most, k] = largest_excess(active);
            if (!std::isfinite(most)) return false;
            if (most <= accuracy) return true;  // as shares sum to 1, the value is as near to the minimum
            active.push_back(k);
        }
        return false;
    }

    // Computes the shares of the active planes that minimise, of any sign, and the multipliers. An updated factor may
    // have lost digits, so that a new one is computed where the planes are not equally high.
    bool solve(const std::vector<std::size_t>& active) {
        double error = refined(active);
        if (!(error <= accuracy)) {
            system = {};
            system.name(nullptr, 0, n);
            error = refined(active);
        }
        for (double& share : best)
            if (std::fabs(share) <= least_share) share = 0.0;
        return std::isfinite(error);
    }

    // The same with one factor. Returns the largest difference of heights, and inf without a solution. Planes that
    // depend on each other have huge shares, towards which a step is short: differences are relative to the largest.
    double refined(const std::vector<std::size_t>& active) {
        const std::size_t m = active.size();
        if (!system.take({H, n, nullptr, nullptr}, SeparableCoordinates({}, 0), active)) return infinite;
        Rows rows{std::vector<double>(m, 1.0), std::vector<double>(m, 0.0)};
        for (std::size_t i = 0; slopes && i < m; ++i) rows[1][i] = slopes[active[i]];
        // without slopes among them, the active planes leave b open
        const std::size_t n_rows = max_abs(rows[1].data(), m) > least_share ? 2 : 1;
        Rows solved = rows;
        SmallMatrix<2> matrix{};
        for (std::size_t c = 0; c < n_rows; ++c) {
            system.solve(active, solved[c]);
            for (std::size_t b = 0; b < n_rows; ++b) matrix[c][b] = dense_dot(rows[b].data(), solved[c].data(), m);
        }
        multipliers = {};
        best.assign(m, 0.0);
        std::vector<double> residual(m);
        double error = infinite, size = 1.0;
        for (int refinement = 0; refinement <= most_refinements; ++refinement) {
            for (std::size_t i = 0; i < m; ++i) {
                residual[i] = e[active[i]] - multipliers[0] - multipliers[1] * rows[1][i];
                const double* row = H + active[i] * n;
                for (std::size_t j = 0; j < m; ++j) residual[i] -= row[active[j]] * best[j];
            }
            error = max_abs(residual.data(), m) / size;
            if (!std::isfinite(error) || (refinement > 0 && error <= accuracy)) break;
            system.solve(active, residual);
            dense_axpy(1.0, residual.data(), best.data(), m);
            keep_constraints(rows, solved, matrix, n_rows);
            size = std::max(1.0, max_abs(best.data(), m));
        }
        const double of_sum = dense_dot(rows[0].data(), best.data(), m) - 1.0;
        return std::fabs(of_sum) <= largest_miss * size ? error : infinite;
    }

    // Changes the multipliers and the active shares so that these satisfy the constraints.
    void keep_constraints(const Rows& rows, const Rows& solved, const SmallMatrix<2>& matrix, std::size_t n_rows) {
        for (int repetition = 0; repetition < 2; ++repetition) {  // as differences of large numbers lose digits
            std::array<double, 2> miss{}, change{};
            for (std::size_t c = 0; c < n_rows; ++c)
                miss[c] = dense_dot(rows[c].data(), best.data(), best.size()) - (c == 0);
            solve_small(matrix, miss, change, n_rows);
            for (std::size_t c = 0; c < n_rows; ++c) {
                multipliers[c] += change[c];
                dense_axpy(-change[c], solved[c].data(), best.data(), best.size());
            }
        }
    }

    // Returns the largest excess of another plane above the maximum of the active ones, and this plane.
    std::pair<double, std::size_t> largest_excess(const std::vector<std::size_t>& active) {
        std::vector<double> excess(e, e + n);
        for (std::size_t k = 0; k < n; ++k) excess[k] -= multipliers[0] + (slopes ? multipliers[1] * slopes[k] : 0.0);
        for (const std::size_t j : active) dense_axpy(-a[j], H + j * n, excess.data(), n);
        for (const std::size_t j : active) excess[j] = 0.0;
        double most = 0.0;
        std::size_t highest = 0;
        for (std::size_t k = 0; k < n; ++k)
            if (!(excess[k] <= most)) most = excess[k], highest = k;
        return {most, highest};
    }
};

}  // namespace skpd
