// The iterate of dual coordinate descent: the dual point theta and the primal point that it gives,
//
//     v = offset e - (1 / alpha) sum_i c_i theta_i (x_i, s),
//
// with e the last unit vector and s the constant feature. With an l1 norm beside the square the coefficients are v
// shrunk by a threshold, the weight of the norm over that of the square: the gradient of the penalty's conjugate.
#pragma once

#include <cstddef>
#include <vector>

#include "data/layouts.hpp"
#include "maths/losses.hpp"

namespace skpd {

struct DualDescentRow {
    double theta, y, weight, step;  // step = alpha / (c_i ||(x_i, s)||^2)
};

template <class Loss, class M>
struct DualIterate {
    const Loss loss;
    const M matrix;
    const std::size_t n, d;
    const double alpha, constant, threshold;
    double offset;
    std::vector<DualDescentRow> rows;
    std::vector<double> v;

    DualIterate(const Loss& loss, const M& matrix, double alpha, double constant, double threshold, double offset)
        : loss(loss), matrix(matrix), n(matrix.n_major), d(matrix.n_minor), alpha(alpha),
          constant(constant), threshold(threshold), offset(offset), rows(n), v(d + 1, 0.0) {}

    // The change of the prediction z_i along a vector, without a threshold
    double predict(std::size_t i, const double* along) const {
        return matrix.dot(i, along) + constant * along[d];
    }
    // z_i
    double predict(std::size_t i) const {
        if (threshold == 0.0) return predict(i, v.data());
        double sum = constant * v[d];
        matrix.for_each(i, [&](std::size_t j, double x) { sum += x * (v[j] - clip(v[j], -threshold, threshold)); });
        return sum;
    }

    // The change of v that follows from one of theta_i: out -= (c_i change / alpha) (x_i, s)
    void add(std::size_t i, double change, double* out) const {
        const double a = -rows[i].weight * change / alpha;
        matrix.axpy(i, a, out);
        out[d] += a * constant;
    }

    // l(y, z) + l*(y, theta) - theta z >= 0, by Fenchel and Young
    double fenchel_young(const DualDescentRow& row, double z) const {
        return primal_value(loss, row.y, z) + conjugate(loss, row.y, row.theta) - row.theta * z;
    }
    // Whether the dual is largest where the row is, with this prediction.
    bool rests(const DualDescentRow& row, double z) const {
        return dual_prox(loss, row.y, row.theta, z, row.step) == row.theta;
    }
};

}  // namespace skpd
