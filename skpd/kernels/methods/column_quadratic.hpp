// Coordinate descent and Newton steps on a penalised quadratic given by a factor A (m, n) of its curvature, without its
// Gram matrix:
//
//   minimise over p (n)   g'(p - w) + ||A (p - w)||^2 / 2 + (p - w)' D (p - w) / 2 + R(p),
//
// where A is diag(h)^(1/2) X_W, without the rows with h_i = 0, and D is diagonal. A step on a coordinate reads its
// column twice, with s = A (p - w) (m) kept up to date.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "data/scaled_columns.hpp"
#include "methods/coordinate_sweeps.hpp"

namespace skpd {

// The quadratic at a point p, with s = A (p - w); g, w, ridge and p (n), s (m)
template <class Columns>
struct ColumnQuadratic {
    const Columns& columns;
    const std::vector<double>& squares;
    const std::int64_t* indices;  // the index of each coordinate's column
    std::size_t n;
    const double *g, *w, *ridge;  // ridge is the diagonal of D
    double *p, *s;
    std::function<void()> pause;  // is called between passes and may throw
    std::vector<double> blocks{}, bounds{};  // the blocks of the groups and bounds on their eigenvalues
    std::vector<std::size_t> block_starts{};

    std::size_t place(std::size_t j) const { return static_cast<std::size_t>(indices[j]); }
    double curvature(std::size_t j) const { return squares[place(j)] + ridge[j]; }
    double gradient(std::size_t j) const {
        return g[j] + columns.dot(place(j), s, place(std::min(j + 1, n - 1))) + ridge[j] * (p[j] - w[j]);
    }
    void shift(std::size_t j, double change) { columns.axpy(place(j), change, s); }
    Block block(std::size_t b, std::size_t, std::size_t size) const {
        return {blocks.data() + block_starts[b], size, bounds[b]};
    }

    void prepare(const SeparableCoordinates&) {}
    // Computes the blocks of A'A + D on the groups; for large groups it takes the bound trace times I.
    void prepare(const GroupedCoordinates& r) {
        constexpr std::size_t large = 32;
        std::vector<double> column(columns.n_rows);
        for (std::size_t b = 0; b < r.n_groups; ++b) {
            const std::size_t first = r.first(b), size = r.first(b + 1) - first, start = blocks.size();
            blocks.resize(start + size * size, 0.0);
            double* block = blocks.data() + start;
            double trace = 0.0;
            for (std::size_t a = 0; a < size; ++a) {
                trace += curvature(first + a);
                block[a * size + a] = curvature(first + a);
                if (size == 1 || size > large) continue;
                columns.axpy(place(first + a), 1.0, column.data());
                for (std::size_t other = 0; other < a; ++other)
                    block[a * size + other] = block[other * size + a] = columns.dot(place(first + other), column.data());
                columns.axpy(place(first + a), -1.0, column.data());
            }
            if (size > large)
                for (std::size_t a = 0; a < size; ++a) block[a * size + a] = trace;
            bounds.push_back(row_sum_norm(block, size, size));
            block_starts.push_back(start);
        }
    }

    // Sweeps over the coordinates until no gradient changes by more than tol, or for the given number of sweeps.
    // Returns the largest change of a gradient in the last sweep, and the number of sweeps.
    template <class R>
    std::pair<double, int> descend(const R& r, int sweeps, double tol) {
        prepare(r);
        for (int k = 1;; ++k) {
            const double largest = sweep(*this, r).largest;
            if (largest <= tol || k >= sweeps) return {largest, k};
            pause();
        }
    }

    // Takes a Newton step on the support by at most max_steps conjugate gradients, preconditioned by the diagonal. They
    // end at a residual of `accuracy` times the first one; returns their number.
    template <class R>
    int newton_step(const R& r, int max_steps, double accuracy) {
        const std::vector<std::size_t> support = curved_support(*this, r), taken = this->taken(support);
        const std::size_t k = support.size();
        const Derivatives derivatives = r.derivatives(support, p);
        std::vector<double> residual(k), diagonal(k), step(k, 0.0), direction(k, 0.0), product(k), v(columns.n_rows);
        columns.dots(taken, s, product.data());
        for (std::size_t a = 0; a < k; ++a) {
            const std::size_t j = support[a];
            residual[a] = -(product[a] + (g[j] + ridge[j] * (p[j] - w[j]))) - derivatives.first[a];
            diagonal[a] = curvature(j) + derivatives.diagonal(a);
        }
        double before = 1.0, target = 0.0;
        int count = 0;
        for (; count < max_steps; ++count) {
            double size = 0.0;
            for (std::size_t a = 0; a < k; ++a) size += residual[a] * residual[a] / diagonal[a];
            if (count == 0) target = accuracy * accuracy * size;
            if (!(size > target)) break;
            pause();
            const double ratio = count > 0 ? size / before : 0.0;
            for (std::size_t a = 0; a < k; ++a) direction[a] = residual[a] / diagonal[a] + ratio * direction[a];
            std::fill(v.begin(), v.end(), 0.0);
            columns.add(taken, direction.data(), v.data());
            columns.dots(taken, v.data(), product.data());
            for (std::size_t a = 0; a < k; ++a) product[a] += ridge[support[a]] * direction[a];
            derivatives.add_product(direction.data(), product.data());
            double curve = 0.0;
            for (std::size_t a = 0; a < k; ++a) curve += direction[a] * product[a];
            if (!(curve > 0.0)) break;
            for (std::size_t a = 0; a < k; ++a) {
                step[a] += size / curve * direction[a];
                residual[a] -= size / curve * product[a];
            }
            before = size;
        }
        step_along(*this, r, support, step);
        return count;
    }
    // Returns the indices of the columns of the support.
    std::vector<std::size_t> taken(const std::vector<std::size_t>& support) const {
        std::vector<std::size_t> out;
        for (const std::size_t j : support) out.push_back(place(j));
        return out;
    }

    std::size_t n_responses() const { return columns.n_rows; }
    // response += A change, the change of s; returns the change of the quadratic.
    double respond(const std::vector<std::size_t>& support, const std::vector<double>& change,
                   std::vector<double>& response) const {
        double gain = 0.0;
        for (std::size_t a = 0; a < support.size(); ++a) {
            const std::size_t j = support[a];
            gain += change[a] * (g[j] + ridge[j] * (p[j] - w[j] + 0.5 * change[a]));
        }
        columns.add(taken(support), change.data(), response.data());
        for (std::size_t t = 0; t < response.size(); ++t) gain += response[t] * (s[t] + 0.5 * response[t]);
        return gain;
    }
    void take(const std::vector<double>& response) {
        for (std::size_t t = 0; t < response.size(); ++t) s[t] += response[t];
    }
};

}  // namespace skpd
