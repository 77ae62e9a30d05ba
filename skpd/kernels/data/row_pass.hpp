// One iteration of a primal-dual method in a single pass over the rows of X (n, d): for each row, z_i = x_i . coef +
// intercept, the new dual variable u_i = update(i, z_i), and gradient += u_i x_i, while the row is in the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "maths/losses.hpp"
#include "data/products.hpp"

namespace skpd {

// gradient += sum_i update(i, z_i) x_i with z_i = x_i . coef + intercept; coef and gradient (d). Returns sum_i
// update(i, z_i), the derivative in the intercept.
template <class Update>
double row_pass(const MajorVectors& matrix, bool by_row, std::size_t n_rows, const double* coef, double intercept,
                double* gradient, Update update) {
    double total = 0.0;
    if (by_row) {
        // Blocks of rows stay in the first-level cache, so that the three loops do not wait for each other's results.
        constexpr std::size_t block = 128;
        double rows[block];
        for (std::size_t first = 0; first < n_rows; first += block) {
            const std::size_t size = std::min(block, n_rows - first);
            matrix.visit([&](const auto& vectors) {
                for (std::size_t i = 0; i < size; ++i) rows[i] = intercept + vectors.dot(first + i, coef);
            });
            for (std::size_t i = 0; i < size; ++i) total += rows[i] = update(first + i, rows[i]);
            matrix.visit([&](const auto& vectors) {
                for (std::size_t i = 0; i < size; ++i)
                    if (rows[i] != 0.0) vectors.axpy(first + i, rows[i], gradient);
            });
        }
    } else {
        std::vector<double> rows(n_rows, intercept);
        matrix.visit([&](const auto& columns) { scatter<Identity>(columns, coef, rows.data()); });
        for (std::size_t i = 0; i < n_rows; ++i) total += rows[i] = update(i, rows[i]);
        matrix.visit([&](const auto& columns) { gather<Identity>(columns, rows.data(), gradient); });
    }
    return total;
}

// The dual half of a reflected Halpern step. With the proximal step
//   prox_i = argmin_u l*(y_i, u) + (u - theta_i - s_i z_i)^2 / (2 s_i),    s_i = scale step_i,
//   theta_i <- momentum (2 prox_i - theta_i) + (1 - momentum) anchor_i.
// All vectors have n entries; the result is weights_i theta_i.
template <class Loss>
struct ReflectedHalpern {
    const Loss& loss;
    const double *y, *weights, *step, *anchor;
    double scale, momentum;
    double *theta, *prox;

    double operator()(std::size_t i, double z) const {
        prox[i] = dual_prox(loss, y[i], theta[i], z, scale * step[i]);
        theta[i] = momentum * (2.0 * prox[i] - theta[i]) + (1.0 - momentum) * anchor[i];
        return weights[i] * theta[i];
    }
};

}  // namespace skpd
