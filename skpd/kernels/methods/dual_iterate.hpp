// The iterate of dual coordinate descent: the dual point theta (n) and the primal point v (d + 1) that it gives,
//
//   v = offset e - (1 / alpha) sum_i c_i theta_i (x_i, s),
//
// where e is the last unit vector and s the constant feature. If the penalty has an l1 norm and a square, the
// coefficients are soft(v, threshold), the gradient of the penalty's conjugate, and the threshold is the weight of the
// norm over that of the square.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/layouts.hpp"
#include "maths/losses.hpp"

namespace skpd {

struct DualDescentRow {
    double theta, y, weight, step;  // step = alpha / (c_i ||(x_i, s)||^2)
};

// The result of a visit of a row: its gap c_i (l(y_i, z_i) + l*(y_i, theta_i) - theta_i z_i) before the row moves, the
// largest |change| / step of its dual variables, and whether it rests, which means that neither this prediction nor any
// near it moves the row.
struct Visit {
    double gap, violation;
    bool rests;
};

// c_i l*(y_i, .) around theta_i
struct DualPiece : QuadraticPiece {
    double along(const double* change) const { return slope * *change; }
};

template <class Loss>
struct DualIterate {
    static constexpr std::size_t stride = 1;  // the number of dual variables of a row
    static constexpr bool quadratic_pieces = Loss::quadratic_pieces;

    const Loss loss;
    const MajorVectors matrix;
    const std::size_t n, d;
    const double alpha, constant, threshold;
    double offset;
    std::vector<DualDescentRow> rows;
    std::vector<double> v;

    DualIterate(const Loss& loss, const MajorVectors& matrix, const double* y, const double* weights, const double* theta,
                double alpha, double constant, double threshold, double offset)
        : loss(loss), matrix(matrix), n(matrix.n_major), d(matrix.n_minor), alpha(alpha), constant(constant),
          threshold(threshold), offset(offset), rows(n), v(d + 1, 0.0) {
        for (std::size_t i = 0; i < n; ++i) {
            const double square = constant * constant + matrix.square(i);
            rows[i] = {theta[i], y[i], weights[i], alpha / (weights[i] * square)};
            // The prediction of this row is 0 for every v.
            if (!std::isfinite(rows[i].step)) rows[i].theta = dual_prox(loss, y[i], theta[i], 0.0, 1e300);
        }
    }

    // (x_i, s) . along, the change of z_i with v in this direction if the threshold is 0; along (d + 1)
    double predict(std::size_t i, const double* along) const {
        return matrix.dot(i, along) + constant * along[d];
    }
    // z_i, the prediction of row i
    double predict(std::size_t i) const {
        if (threshold == 0.0) return predict(i, v.data());
        double sum = constant * v[d];
        matrix.for_each(i, [&](std::size_t j, double x) { sum += x * (v[j] - clip(v[j], -threshold, threshold)); });
        return sum;
    }

    // out -= (c_i change / alpha) (x_i, s), the change of v that follows from a change of theta_i; out (d + 1)
    void add(std::size_t i, const double* change, double* out) const {
        const double a = -rows[i].weight * *change / alpha;
        matrix.axpy(i, a, out);
        out[d] += a * constant;
    }

    // Moves theta_i to the maximum of the dual along it. The row rests if no prediction within the slack of z_i would
    // move it.
    Visit visit(std::size_t i, double slack) {
        DualDescentRow& row = rows[i];
        const double z = predict(i), gap = this->gap(row, z);
        const double next = dual_prox(loss, row.y, row.theta, z, row.step), change = next - row.theta;
        if (change == 0.0) {
            const bool known = slack > 0.0 && std::isfinite(slack);
            return {gap, 0.0, known && rests(row, z - slack) && rests(row, z + slack)};
        }
        row.theta = next;
        add(i, &change, v.data());
        return {gap, std::fabs(change) / row.step, false};
    }

    // Returns what a visit would, without a move.
    Visit look(std::size_t i) const {
        const double z = predict(i);
        return {gap(rows[i], z), 0.0, rests(rows[i], z)};
    }

    // offset <- v_d, the last entry of v; returns sum_i c_i theta_i.
    double recentre() {
        double sum = 0.0;
        for (const DualDescentRow& row : rows) sum += row.weight * row.theta;
        offset = v[d];
        v[d] -= constant / alpha * sum;
        return sum;
    }
    // Computes v from theta_i of the given rows, which must include all with theta_i != 0.
    void refresh(const std::vector<std::uint32_t>& row_indices) {
        std::fill(v.begin(), v.end(), 0.0);
        v[d] = offset;
        for (const std::uint32_t i : row_indices)
            if (rows[i].theta != 0.0) add(i, &rows[i].theta, v.data());
    }
    std::vector<double> theta() const {
        std::vector<double> out(n);
        for (std::size_t i = 0; i < n; ++i) out[i] = rows[i].theta;
        return out;
    }

    // The following members are those that `MoveSubspace` calls.

    bool has_faces() const { return quadratic_pieces && threshold == 0.0; }
    const double* point(std::size_t i) const { return &rows[i].theta; }
    DualPiece piece(std::size_t i) const {
        DualPiece piece{dual_piece(loss, rows[i].y, rows[i].theta)};
        piece.slope *= rows[i].weight;
        piece.curvature *= rows[i].weight;
        return piece;
    }
    bool stays_on_face(std::size_t, const DualPiece& piece, const double*, const double*, const double*) const {
        return piece.inside;
    }
    // out = c_i (z_i - slope_i), the derivative of the dual in theta_i
    void gradient(std::size_t i, double* out) const {
        *out = rows[i].weight * (predict(i) - dual_piece(loss, rows[i].y, rows[i].theta).slope);
    }
    // Shortens a change that leaves the piece; writes the difference, and returns whether there is any.
    bool shorten(std::size_t i, const DualPiece& piece, double* change, double* added) const {
        const double whole = rows[i].theta + *change, next = clip(whole, piece.lower, piece.upper);
        *added = next - whole;
        *change = next - rows[i].theta;
        return next != whole;
    }
    // theta_i += length change, within the piece; moved += the change.
    void advance(std::size_t i, const DualPiece& piece, double length, const double* change, double* moved) {
        const double next = clip(rows[i].theta + length * *change, piece.lower, piece.upper);
        *moved += next - rows[i].theta;
        rows[i].theta = next;
    }

   private:
    double gap(const DualDescentRow& row, double z) const {
        return row.weight * fenchel_young(loss, row.y, row.theta, z);
    }
    // Returns whether theta_i is the maximum of the dual along it for the prediction z.
    bool rests(const DualDescentRow& row, double z) const {
        return dual_prox(loss, row.y, row.theta, z, row.step) == row.theta;
    }
};

}  // namespace skpd
