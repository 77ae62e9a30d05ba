// out = X_W' diag(h) X_W of a dense X (n, d) with many rows over few columns W; h (n), out (m, m). BLAS would read
// copies of the columns and would gain nothing from a second thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "data/products.hpp"
#include "data/output_blocks.hpp"
#include "data/parts.hpp"

namespace skpd {

// out[b m + a] += sum_t x_{t, a} w_{t, b} for a < 8 and b < 4; x and w (n, stride)
SKPD_CLONES inline void add_outer_products(std::size_t n, const double* x, const double* w, std::size_t stride, double* out,
                                           std::size_t m) {
    constexpr std::size_t n_a = 8, n_b = 4;
    double sums[n_b][n_a] = {};
    for (std::size_t t = 0; t < n; ++t, x += stride, w += stride)
        for (std::size_t b = 0; b < n_b; ++b) {
            const double wb = w[b];
#pragma omp simd
            for (std::size_t a = 0; a < n_a; ++a) sums[b][a] += wb * x[a];
        }
    for (std::size_t b = 0; b < n_b; ++b)
        for (std::size_t a = 0; a < n_a; ++a) out[b * m + a] += sums[b][a];
}

// plain = x and weighted = h x; all (n)
template <class T>
SKPD_CLONES void copy_weighted(std::size_t n, const T* x, double h, double* plain, double* weighted) {
#pragma omp simd
    for (std::size_t a = 0; a < n; ++a) {
        plain[a] = static_cast<double>(x[a]);
        weighted[a] = h * static_cast<double>(x[a]);
    }
}

// Rows x_iW and h_i x_iW of a matrix that is stored by rows, one after the other, and sums of their outer products.
class PanelOfRows {
   public:
    static constexpr std::size_t n_rows = 64, padding = 8;

    // Unused numbers keep rows from competing for the same lines of the cache, as those apart by a multiple of 64 do.
    explicit PanelOfRows(std::size_t n_columns)
        : length_(n_columns), stride_(n_columns % 64 == 0 ? n_columns + 8 : n_columns), plain_(n_rows * stride_, 0.0),
          weighted_(n_rows * stride_, 0.0) {}

    // Reads rows with h_i != 0, of first <= i < last, until the panel is full; returns the first row that it has not
    // read.
    template <class T>
    std::size_t fill(const Dense<T>& matrix, const double* h, std::size_t first, std::size_t last,
                     const std::int64_t* columns, std::size_t n_columns, bool ones) {
        const bool neighbours = n_columns > 0 && columns[n_columns - 1] - columns[0] + 1 == std::int64_t(n_columns);
        for (count_ = 0; first < last && count_ < n_rows; ++first) {
            if (h[first] == 0.0) continue;
            const T* x = matrix.major(first);
            double *to = &plain_[count_ * stride_], *weighted = &weighted_[count_ * stride_];
            if (neighbours) {
                copy_weighted(n_columns, x + columns[0], h[first], to, weighted);
            } else {
                for (std::size_t a = 0; a < n_columns; ++a) to[a] = static_cast<double>(x[columns[a]]);
                copy_weighted(n_columns, to, h[first], to, weighted);
            }
            if (ones) to[n_columns] = 1.0, weighted[n_columns] = h[first];
            ++count_;
        }
        return first;
    }

    // sums[b length + a] += sum_i h_i x_ia x_ib for a >= b
    void add_to(double* sums) const {
        for (std::size_t a = 0; a < length_; a += padding)
            for (std::size_t b = 0; b < a + padding; b += 4)
                add_outer_products(count_, &plain_[a], &weighted_[b], stride_, sums + b * length_ + a, length_);
    }

   private:
    std::size_t length_, stride_, count_ = 0;
    std::vector<double> plain_, weighted_;
};

// Columns of x_iW and h_i x_iW of a matrix that is stored by columns, and their inner products. The panel borrows columns
// of the matrix where it can and copies them otherwise.
class PanelOfColumns {
   public:
    static constexpr std::size_t n_rows = 512, padding = together;
    // The 8 unused numbers keep columns from competing for the same lines of the cache.
    static constexpr std::size_t stride = n_rows + 8;

    explicit PanelOfColumns(std::size_t n_columns)
        : plain_(n_columns * stride, 0.0), weighted_(n_columns * stride, 0.0), at_(n_columns), weighted_at_(n_columns) {}

    // Reads rows with h_i != 0, of first <= i < last, until the panel is full; returns the first row that it has not
    // read.
    template <class T>
    std::size_t fill(const Dense<T>& matrix, const double* h, std::size_t first, std::size_t last,
                     const std::int64_t* columns, std::size_t n_columns, bool ones) {
        std::size_t count = 0;
        for (; first < last && count < n_rows; ++first) {
            rows_[count] = first;
            h_[count] = h[first];
            count += h[first] != 0.0;
        }
        const bool neighbours = count > 0 && rows_[count - 1] - rows_[0] + 1 == count, full = count == n_rows;
        for (std::size_t a = 0; a < at_.size(); ++a) at_[a] = &plain_[a * stride];
        for (std::size_t a = 0; a < n_columns; ++a) {
            const T* x = matrix.major(static_cast<std::size_t>(columns[a]));
            double* to = &plain_[a * stride];
            if constexpr (std::is_same_v<T, double>) {
                if (neighbours && full) {
                    at_[a] = x + rows_[0];
                    continue;
                }
            }
            if (neighbours) for (std::size_t t = 0; t < count; ++t) to[t] = static_cast<double>(x[rows_[0] + t]);
            else for (std::size_t t = 0; t < count; ++t) to[t] = static_cast<double>(x[rows_[t]]);
        }
        if (ones) std::fill_n(&plain_[n_columns * stride], count, 1.0);
        weigh(count);
        return first;
    }

    // sums[b length + a] += sum_i h_i x_ia x_ib for a >= b
    void add_to(double* sums) const {
        const std::size_t length = at_.size();
        for (std::size_t a = 0; a < length; a += padding) {
            const Four<double> four = {at_[a], at_[a + 1], at_[a + 2], at_[a + 3]};
            for (std::size_t b = 0; b < a + padding; b += 2)
                add_inner_products(n_rows, four, weighted_at_[b], weighted_at_[b + 1], scale_, sums + b * length + a,
                                   sums + (b + 1) * length + a);
        }
    }

   private:
    // Rows that remain from an earlier and fuller panel get the weight 0.
    void weigh(std::size_t count) {
        if (count == n_rows && std::all_of(h_.begin(), h_.end(), [&](double x) { return x == h_[0]; })) {
            scale_ = h_[0];
            weighted_at_ = at_;
            return;
        }
        scale_ = 1.0;
        for (std::size_t a = 0; a < at_.size(); ++a) {
            double* to = &weighted_[a * stride];
            for (std::size_t t = 0; t < count; ++t) to[t] = h_[t] * at_[a][t];
            std::fill(to + count, to + n_rows, 0.0);
            weighted_at_[a] = to;
        }
    }

    std::array<std::size_t, n_rows> rows_{};
    std::array<double, n_rows> h_{};
    std::vector<double> plain_, weighted_;
    std::vector<const double*> at_, weighted_at_;  // of x_ia and h_i x_ia / scale_
    double scale_ = 1.0;
};

// out = sum_i h_i x_iW x_iW', of shape (m, m) with m = n_columns + ones; the column of ones is the last. The rows are
// summed in parts whose number does not depend on that of the threads, so that threads change no digit.
template <class Panel, class T>
void sum_of_panels(const Dense<T>& matrix, std::size_t n_rows, const double* h, const std::int64_t* columns,
                   std::size_t n_columns, bool ones, double* out, std::size_t n_threads) {
    constexpr std::size_t rows_of_part = 8192;
    const std::size_t n_parts = std::clamp<std::size_t>(n_rows / rows_of_part, 1, 16);
    const std::size_t m = n_columns + ones, padded = (m + Panel::padding - 1) / Panel::padding * Panel::padding;
    std::vector<double> sums(n_parts * padded * padded, 0.0);
    n_threads = std::min(n_threads, n_parts);
    in_threads(n_threads, [&](std::size_t thread) {
        Panel panel(padded);
        for (std::size_t part = thread; part < n_parts; part += n_threads) {
            double* sum = &sums[part * padded * padded];
            const std::size_t last = n_rows * (part + 1) / n_parts;
            for (std::size_t first = n_rows * part / n_parts; first < last;) {
                first = panel.fill(matrix, h, first, last, columns, n_columns, ones);
                panel.add_to(sum);
            }
        }
    });
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
            double sum = 0.0;
            for (std::size_t part = 0; part < n_parts; ++part) sum += sums[(part * padded + b) * padded + a];
            out[a * m + b] = out[b * m + a] = sum;
        }
}

template <class T>
void tall_gram(const Dense<T>& matrix, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* columns,
               std::size_t n_columns, bool ones, double* out, std::size_t n_threads) {
    const auto sum = by_row ? sum_of_panels<PanelOfRows, T> : sum_of_panels<PanelOfColumns, T>;
    sum(matrix, n_rows, h, columns, n_columns, ones, out, n_threads);
}

}  // namespace skpd
