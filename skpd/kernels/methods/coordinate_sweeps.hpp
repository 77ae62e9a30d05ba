// Sweeps of coordinate descent on a penalised quadratic, and steps on its support. A model of the quadratic has a point
// p (n), the curvatures and the gradient in its coordinates, and updates the gradient after a change of a coordinate
// (`shift`); a group of coordinates has a block of the curvature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "maths/losses.hpp"
#include "methods/penalised_coordinates.hpp"

namespace skpd {

// The result of a sweep: the largest |change| curvature, a change of a gradient, and whether no coordinate has reached
// 0 or left it
struct Sweep {
    double largest = 0.0;
    bool settled = true;
    std::size_t n_moved = 0;

    template <class Model>
    void move(Model& model, std::size_t j, double to, double curvature) {
        const double change = to - model.p[j];
        if (change == 0.0) return;
        settled &= (model.p[j] == 0.0) == (to == 0.0);
        ++n_moved;
        model.p[j] = to;
        model.shift(j, change);
        largest = std::max(largest, std::fabs(change) * curvature);
    }
    // Minimises over the coordinates without a penalty, from index `first` on.
    template <class Model>
    void move_free(Model& model, std::size_t first) {
        for (std::size_t j = first; j < model.n; ++j)
            if (const double c = model.curvature(j); c > 0.0) move(model, j, model.p[j] - model.gradient(j) / c, c);
    }
};

// p_j <- argmin over x of g_j (x - p_j) + c_j (x - p_j)^2 / 2 + R_j(x) for each coordinate in turn, with g_j the
// gradient and c_j the curvature at p
template <class Model>
Sweep sweep(Model& model, const SeparableCoordinates& r) {
    Sweep done;
    for (std::size_t j = 0; j < r.n_penalised(); ++j) {
        const SeparableTerm& term = r[j];
        const double c = model.curvature(j);
        if (c + term.l2 > 0.0)
            done.move(model, j, term.minimiser(c, c * model.p[j] - model.gradient(j)), c + term.l2);
    }
    done.move_free(model, r.n_penalised());
    return done;
}

// max_a sum_b |B_ab|, a bound on the eigenvalues of B (n, n), whose rows are `stride` numbers apart
inline double row_sum_norm(const double* B, std::size_t stride, std::size_t n) {
    double largest = 0.0;
    for (std::size_t a = 0; a < n; ++a) {
        double sum = 0.0;
        for (std::size_t b = 0; b < n; ++b) sum += std::fabs(B[a * stride + b]);
        largest = std::max(largest, sum);
    }
    return largest;
}

// x ~ argmin over x of g'(x - p) + (x - p)' B (x - p) / 2 + l1 ||x||_1 + weight ||x||_2, by at most three proximal
// gradient steps from x = p with a bound on the eigenvalues of B; B (n, n), and all vectors (n). g and change are
// overwritten.
inline void minimise_on_group(const double* B, std::size_t stride, std::size_t n, double bound, double* g,
                              const double* p, double l1, double weight, double* x, double* change) {
    std::copy_n(p, n, x);
    double first = 0.0;
    for (int inner = 0; inner < 3; ++inner) {
        double square = 0.0, moved = 0.0;
        for (std::size_t a = 0; a < n; ++a) {
            const double v = bound * x[a] - g[a];
            change[a] = v - clip(v, -l1, l1);
            square += change[a] * change[a];
        }
        const double norm = std::sqrt(square), factor = norm > weight ? (1.0 - weight / norm) / bound : 0.0;
        for (std::size_t a = 0; a < n; ++a) {
            change[a] = factor * change[a] - x[a];
            x[a] += change[a];
            moved = std::max(moved, std::fabs(change[a]));
        }
        if (inner == 0) first = moved;
        if (n == 1 || moved <= 0.1 * first) break;
        for (std::size_t b = 0; b < n; ++b)
            for (std::size_t a = 0; a < n; ++a) g[a] += B[b * stride + a] * change[b];
    }
}

// A block of the curvature, whose rows are `stride` numbers apart, and a bound on its eigenvalues
struct Block {
    const double* entries;
    std::size_t stride;
    double bound;
};

// Minimises nearly over each group of coordinates in turn, as in `minimise_on_group`.
template <class Model>
Sweep sweep(Model& model, const GroupedCoordinates& r) {
    Sweep done;
    std::vector<double> slope, next, change;
    for (std::size_t g = 0; g < r.n_groups; ++g) {
        const std::size_t first = r.first(g), size = r.first(g + 1) - first;
        const Block block = model.block(g, first, size);
        if (!(block.bound > 0.0)) continue;
        for (auto* vector : {&slope, &next, &change}) vector->resize(size);
        for (std::size_t a = 0; a < size; ++a) slope[a] = model.gradient(first + a);
        minimise_on_group(block.entries, block.stride, size, block.bound, slope.data(), model.p + first, r.l1,
                          r.weights[g], next.data(), change.data());
        for (std::size_t a = 0; a < size; ++a) done.move(model, first + a, next[a], block.bound);
    }
    done.move_free(model, r.n_penalised());
    done.settled = false;  // within a group the coordinates continue to move
    return done;
}

// The coordinates that are not at a kink and have a curvature
template <class Model, class R>
std::vector<std::size_t> curved_support(const Model& model, const R& penalty) {
    std::vector<std::size_t> support = penalty.support(model.p, model.n);
    std::erase_if(support, [&](std::size_t j) { return !(model.curvature(j) > 0.0); });
    return support;
}

// Moves p on the support (k) along a step (k): by the whole step, a half, a quarter, or up to the first kink, whichever
// first lowers the objective. A coordinate that would cross its kink or leave its bounds stops there. Returns the share
// of the step that was taken.
template <class Model, class R>
double step_along(Model& model, const R& r, const std::vector<std::size_t>& support, const std::vector<double>& step) {
    const std::size_t k = support.size();
    double* p = model.p;
    std::vector<double> change(k), response(model.n_responses());
    double to_kink = 1.0;
    for (std::size_t a = 0; a < k; ++a) to_kink = std::min(to_kink, r.to_kink(support[a], p[support[a]], step[a]));
    for (const double length : {1.0, 0.5, 0.25, to_kink}) {
        for (std::size_t a = 0; a < k; ++a) {
            const std::size_t j = support[a];
            change[a] = r.moved(j, p[j], length * step[a]) - p[j];
        }
        std::fill(response.begin(), response.end(), 0.0);
        const double gain = model.respond(support, change, response) + r.rise(support, p, change.data());
        if (!(gain < 0.0)) continue;
        for (std::size_t a = 0; a < k; ++a) {
            const double from = p[support[a]], to = from + change[a];
            p[support[a]] = std::fabs(to) <= 1e-16 * std::fabs(from) ? 0.0 : to;
        }
        model.take(response);
        return length;
    }
    return 0.0;
}

}  // namespace skpd
