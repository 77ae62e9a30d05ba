// A dense matrix X (n, d), stored by columns, in eight bits for each entry, for products of which a rough value
// suffices.
//
// With x_j ~ s_j q_j and v ~ r t for vectors of integers q_j and t (n),
//
//   |x_j'v - s_j r q_j't| <= ||x_j - s_j q_j|| ||theta|| + s_j ||q_j||_2 ||v - r t||_2,    v = diag(c) theta,
//
// in the norm ||a||^2 = sum_i c_i a_i^2. These products take a small part of the time of the exact ones, since they
// read an eighth of the memory and sums of integers are exact in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "maths/norms.hpp"

namespace skpd {

// The integer nearest to x, for |x| < 2^51
inline double nearest_integer(double x) {
    constexpr double shift = 6755399441055744.0;  // 3 * 2^51
    return (x + shift) - shift;
}
// Writes q = nearest_integer(x / s); returns sum_i weights_i (x_i - s q_i)^2 and sum_i q_i^2. All vectors have n
// entries.
struct QuantisationErrors {
    double error = 0.0, size = 0.0;
};
template <class T>
SKPD_CLONES QuantisationErrors quantise(const T* x, const double* weights, double s, double inverse, std::int8_t* q,
                                        std::size_t n) {
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
// sum_i q_i t_i
SKPD_CLONES inline std::int32_t integer_dot(const std::int8_t* q, const std::int16_t* t, std::size_t n) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<std::int32_t>(q[i]) * static_cast<std::int32_t>(t[i]);
    return sum;
}

class CoarseMatrix {
   public:
    static constexpr std::int32_t max_q = 127, max_t = 2047;  // the largest |q_i| and |t_i|
    static constexpr std::size_t max_terms = 8192;  // a sum of so many products fits in 32 bits
    static_assert(std::int64_t{max_q} * max_t * max_terms < std::int64_t{1} << 31);

    // Of column j: scale is s_j, error ||x_j - s_j q_j||, and size s_j ||q_j||_2, as computed.
    struct Column {
        double scale, error, size;
    };

    template <class T>
    CoarseMatrix(const Dense<T>& columns, const double* weights)
        : n_rows_(columns.n_minor), columns_(columns.n_major), q_(columns.n_entries()), t_(n_rows_) {
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            const double largest = max_abs(columns.major(j), n_rows_);
            // Where the inverse or a square might overflow, the column is approximated by 0.
            const double scale = largest > 1e-140 && largest < 1e140 ? largest / max_q : 0.0;
            const double inverse = scale > 0.0 ? 1.0 / scale : 0.0;
            const auto [error, size] =
                quantise(columns.major(j), weights, scale, inverse, q_.data() + j * n_rows_, n_rows_);
            columns_[j] = {scale, std::sqrt(error), scale * std::sqrt(size)};
        }
    }

    const Column& column(std::size_t j) const { return columns_[j]; }

    // Rounds v (n) to r t; returns ||v - r t||_2^2 as computed, or infinity if v is out of range.
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

    // Calls visit(j, s_j r q_j't) for each column j of the indices.
    template <class I, class Visit>
    void products(const std::vector<I>& indices, Visit visit) const {
        // Columns are prefetched ahead of their use, as memory is slower than the products.
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
