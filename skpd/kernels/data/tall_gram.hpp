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

// A panel holds x_ij and h_i x_ij for up to n_rows rows i and the columns j; it borrows columns of the matrix where it
// can and copies them otherwise.
class Panel {
   public:
    static constexpr std::size_t n_rows = 512;
    // The 8 unused numbers keep columns from competing for the same lines of the cache.
    static constexpr std::size_t stride = n_rows + 8;

    explicit Panel(std::size_t n_columns)
        : plain_(n_columns * stride, 0.0), weighted_(n_columns * stride, 0.0), at_(n_columns), weighted_at_(n_columns) {}

    // Reads rows with h_i != 0, of first <= i < last, until the panel is full; returns the first row that it has not
    // read.
    template <class T>
    std::size_t fill(const Dense<T>& matrix, bool by_row, const double* h, std::size_t first, std::size_t last,
                     const std::int64_t* columns, std::size_t n_columns, bool ones) {
        std::size_t count = 0;
        for (; first < last && count < n_rows; ++first) {
            rows_[count] = first;
            h_[count] = h[first];
            count += h[first] != 0.0;
        }
        const bool neighbours = count > 0 && rows_[count - 1] - rows_[0] + 1 == count, full = count == n_rows;
        for (std::size_t a = 0; a < at_.size(); ++a) at_[a] = &plain_[a * stride];
        if (by_row) {
            for (std::size_t t = 0; t < count; ++t) {
                const T* x = matrix.major(rows_[t]);
                for (std::size_t a = 0; a < n_columns; ++a)
                    plain_[a * stride + t] = static_cast<double>(x[columns[a]]);
            }
        } else {
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
        }
        if (ones) std::fill_n(&plain_[n_columns * stride], count, 1.0);
        weigh(count);
        return first;
    }

    Four<double> four(std::size_t a) const { return {at_[a], at_[a + 1], at_[a + 2], at_[a + 3]}; }
    const double* times_h(std::size_t b) const { return weighted_at_[b]; }  // h_i x_ib / scale()
    double scale() const { return scale_; }

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
    std::vector<const double*> at_, weighted_at_;
    double scale_ = 1.0;
};

// out = sum_i h_i x_iW x_iW', of shape (m, m) with m = n_columns + ones; the column of ones is the last. The rows are
// summed in parts whose number does not depend on that of the threads, so that threads change no digit.
template <class T>
void tall_gram(const Dense<T>& matrix, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* columns,
               std::size_t n_columns, bool ones, double* out, std::size_t n_threads) {
    const std::size_t n_parts = std::clamp<std::size_t>(n_rows / (16 * Panel::n_rows), 1, 16);
    const std::size_t m = n_columns + ones, padded = (m + together - 1) / together * together;
    std::vector<double> sums(n_parts * padded * padded, 0.0);
    n_threads = std::min(n_threads, n_parts);
    in_threads(n_threads, [&](std::size_t thread) {
        Panel panel(padded);
        for (std::size_t part = thread; part < n_parts; part += n_threads) {
            double* sum = &sums[part * padded * padded];
            const std::size_t last = n_rows * (part + 1) / n_parts;
            for (std::size_t first = n_rows * part / n_parts; first < last;) {
                first = panel.fill(matrix, by_row, h, first, last, columns, n_columns, ones);
                for (std::size_t a = 0; a < padded; a += together)
                    for (std::size_t b = 0; b < a + together; b += 2)
                        add_inner_products(Panel::n_rows, panel.four(a), panel.times_h(b), panel.times_h(b + 1), panel.scale(),
                                           sum + b * padded + a, sum + (b + 1) * padded + a);
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

}  // namespace skpd
