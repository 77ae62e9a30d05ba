// A dense matrix by columns in eight bits for each entry, for products that need only be known roughly.
//
// With x_j ~ s_j q_j and v ~ r t in integers, s_j r q_j't misses x_j'v by at most
//     ||x_j - s_j q_j|| ||theta|| + s_j ||q_j||_2 ||v - r t||_2,    v = diag(c) theta,
// in the norm ||a||^2 = sum_i c_i a_i^2. It takes a small part of the time of the product, as it
// reads an eighth of the numbers and sums of integers are exact in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "maths/norms.hpp"

namespace skpd {

// The nearest integer of a number of magnitude below 2^51
inline double nearest_integer(double x) {
    constexpr double shift = 6755399441055744.0;  // 3 * 2^51
    return (x + shift) - shift;
}
// q = nearest(x / s); the weighted square of x - s q, and that of q
struct QuantisationErrors {
    double error = 0.0, size = 0.0;
};
template <class T>
SKPD_CLONES QuantisationErrors quantise(const T* x, const double* weights, double s, double inverse, std::int8_t* q, std::size_t n) {
    double error = 0.0, size = 0.0;
#pragma omp simd reduction(+ : error, size)
    for (std::size_t i = 0; i < n; ++i) {
        const double a = static_cast<double>(x[i]), y = nearest_integer(a * inverse), d = a - s * y;
        error += weights[i] * (d * d);
        size += y * y;
        q[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(y));
    }
    return {error, size};
}
SKPD_CLONES inline std::int32_t integer_dot(const std::int8_t* q, const std::int16_t* t, std::size_t n) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<std::int32_t>(q[i]) * static_cast<std::int32_t>(t[i]);
    return sum;
}

class CoarseMatrix {
   public:
    static constexpr std::int32_t max_q = 127, max_t = 2047;  // of entries of q and of t
    static constexpr std::size_t max_terms = 8192;              // sums of so many fit in 32 bits
    static_assert(std::int64_t{max_q} * max_t * max_terms < std::int64_t{1} << 31);

    // The computed numbers s_j, ||x_j - s_j q_j|| and s_j ||q_j||_2 of column j
    struct Column {
        double scale, error, size;
    };

    template <class T>
    CoarseMatrix(const Dense<T>& columns, const double* weights)
        : n_rows_(columns.n_minor), columns_(columns.n_major), q_(columns.n_entries()), t_(n_rows_) {
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            const double largest = max_abs(columns.major(j), n_rows_);
            // where the inverse or a square might overflow, 0 keeps nothing
            const double scale = largest > 1e-140 && largest < 1e140 ? largest / max_q : 0.0;
            const double inverse = scale > 0.0 ? 1.0 / scale : 0.0;
            const auto [error, size] =
                quantise(columns.major(j), weights, scale, inverse, q_.data() + j * n_rows_, n_rows_);
            columns_[j] = {scale, std::sqrt(error), scale * std::sqrt(size)};
        }
    }

    const Column& column(std::size_t j) const { return columns_[j]; }

    // Takes v; returns the square of ||v - r t||_2, as computed, or infinity where it is out of range.
    double take(const std::vector<double>& v) {
        step_ = max_abs(v.data(), v.size()) / max_t;
        if (!(step_ > 1e-150 && step_ < 1e150)) return std::numeric_limits<double>::infinity();
        double error = 0.0;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const double y = nearest_integer(v[i] / step_), d = v[i] - step_ * y;
            error += d * d;
            t_[i] = static_cast<std::int16_t>(y);
        }
        return error;
    }

    // visit(j, s_j r q_j't) for some columns
    template <class I, class Visit>
    void products(const std::vector<I>& indices, Visit visit) const {
        // columns are prefetched some places ahead, as memory is slower than the products
        const std::size_t page = std::min<std::size_t>(n_rows_, 4096), ahead = (page + 4096) / page;
        const auto column = [&](std::size_t k) { return q_.data() + static_cast<std::size_t>(indices[k]) * n_rows_; };
        for (std::size_t k = 0; k < indices.size(); ++k) {
            Prefetch{column(std::min(k + ahead, indices.size() - 1))}(0, page);
            const std::int8_t* q = column(k);
            double sum = 0.0;
            for (std::size_t first = 0; first < n_rows_; first += max_terms)
                sum += integer_dot(q + first, t_.data() + first, std::min(max_terms, n_rows_ - first));
            visit(indices[k], columns_[static_cast<std::size_t>(indices[k])].scale * step_ * sum);
        }
    }

   private:
    std::size_t n_rows_;
    std::vector<Column> columns_;
    std::vector<std::int8_t> q_;
    std::vector<std::int16_t> t_;
    double step_ = 1.0;
};

}  // namespace skpd
