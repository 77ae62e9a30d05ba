// out = X_W' diag(h) X_W = sum_i h_i x_iW x_iW' over columns W of X (n_rows, n_columns), with a last column of ones if
// `ones` is set; h (n_rows), out (m, m) for m columns. Only rows with h_i != 0 are read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/dense_vectors.hpp"
#include "data/layouts.hpp"

namespace skpd {

// out[b m + a] += sum_t x_{t, a} w_{t, b} for a < 8 and b < 4; x and w (n, stride)
SKPD_CLONES inline void add_outer_products(std::size_t n, const double* x, const double* w, std::size_t stride,
                                           double* out, std::size_t m) {
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

// For few columns: BLAS would need copies that are larger than a cache, and takes over where columns are many
// (designs/dense_gram.py).
template <class T>
void gram(const Dense<T>& X, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* columns,
          std::size_t d, bool ones, double* out) {
    constexpr std::size_t panel = 64;  // rows x_iW and h_i x_iW that are copied, one after the other
    const std::size_t m = d + ones, length = (m + 7) / 8 * 8;
    // Unused numbers keep rows from competing for the same lines of the cache, as those apart by a multiple of 64 do.
    const std::size_t stride = length % 64 == 0 ? length + 8 : length;
    std::vector<double> plain(panel * stride, 0.0), weighted(panel * stride, 0.0), sums(length * length, 0.0);
    std::array<std::size_t, panel> rows{};
    for (std::size_t next = 0; next < n_rows;) {
        std::size_t count = 0;
        for (; next < n_rows && count < panel; ++next)
            if (h[next] != 0.0) rows[count++] = next;
        if (by_row) {
            for (std::size_t t = 0; t < count; ++t)
                for (std::size_t a = 0; a < d; ++a)
                    plain[t * stride + a] = static_cast<double>(X.major(rows[t])[columns[a]]);
        } else {
            for (std::size_t a = 0; a < d; ++a)
                for (std::size_t t = 0; t < count; ++t)
                    plain[t * stride + a] = static_cast<double>(X.major(std::size_t(columns[a]))[rows[t]]);
        }
        for (std::size_t t = 0; t < count; ++t) {
            if (ones) plain[t * stride + d] = 1.0;
            for (std::size_t a = 0; a < m; ++a) weighted[t * stride + a] = h[rows[t]] * plain[t * stride + a];
        }
        for (std::size_t a = 0; a < length; a += 8)
            for (std::size_t b = 0; b < a + 8; b += 4)
                add_outer_products(count, &plain[a], &weighted[b], stride, &sums[b * length + a], length);
    }
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b <= a; ++b) out[a * m + b] = out[b * m + a] = sums[b * length + a];
}

// Calls visit(i, k, positions, entries) for the rows with h_i != 0: the k entries of row i in the given columns that
// are not 0, and the positions of these among the columns; h (n_rows).
template <class M, class Visit>
void for_each_row_of(const M& matrix, bool by_row, std::size_t n_rows, const double* h,
                     const std::vector<std::int64_t>& columns, Visit visit) {
    using Place = std::uint32_t;
    const std::size_t m = columns.size();
    if (by_row) {
        constexpr auto none = static_cast<Place>(-1);
        std::vector<Place> place_of(matrix.n_minor, none), positions;
        std::vector<double> entries;
        for (std::size_t a = 0; a < m; ++a) place_of[static_cast<std::size_t>(columns[a])] = static_cast<Place>(a);
        // Rows are read in blocks before they are visited, as a load soon after a store to the same place waits for it.
        constexpr std::size_t rows_at_once = 64;
        std::size_t ends[rows_at_once + 1] = {};
        for (std::size_t top = 0; top < n_rows; top += rows_at_once) {
            const std::size_t n = std::min(rows_at_once, n_rows - top);
            for (std::size_t r = 0, k = 0; r < n; ++r, ends[r] = k) {
                if (h[top + r] == 0.0) continue;
                if (positions.size() < k + matrix.length(top + r)) {
                    positions.resize(2 * k + matrix.length(top + r));
                    entries.resize(positions.size());
                }
                matrix.for_each(top + r, [&](std::size_t j, double x) {  // branches would be mispredicted
                    positions[k] = place_of[j];
                    entries[k] = x;
                    k += static_cast<std::size_t>((place_of[j] != none) & (x != 0.0));
                });
            }
            for (std::size_t r = 0; r < n; ++r)
                if (h[top + r] != 0.0)
                    visit(top + r, ends[r + 1] - ends[r], positions.data() + ends[r], entries.data() + ends[r]);
        }
        return;
    }
    std::vector<std::size_t> start(n_rows + 1, 0);
    const auto counts = [&](std::size_t i, double x) { return h[i] != 0.0 && x != 0.0; };
    for (const std::int64_t j : columns)
        matrix.for_each(static_cast<std::size_t>(j), [&](std::size_t i, double x) { start[i + 1] += counts(i, x); });
    for (std::size_t i = 0; i < n_rows; ++i) start[i + 1] += start[i];
    std::vector<Place> positions(start[n_rows]);
    std::vector<double> entries(start[n_rows]);
    std::vector<std::size_t> next(start.begin(), start.end() - 1);
    for (std::size_t a = 0; a < m; ++a)
        matrix.for_each(static_cast<std::size_t>(columns[a]), [&](std::size_t i, double x) {
            if (!counts(i, x)) return;
            positions[next[i]] = static_cast<Place>(a);
            entries[next[i]++] = x;
        });
    for (std::size_t i = 0; i < n_rows; ++i)
        if (h[i] != 0.0) visit(i, start[i + 1] - start[i], positions.data() + start[i], entries.data() + start[i]);
}

// The columns of a sparse matrix must increase.
template <class T, class I>
void gram(const Sparse<T, I>& matrix, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* columns,
          std::size_t n_selected, bool ones, double* out) {
    const std::size_t m = n_selected + ones;
    std::fill_n(out, m * m, 0.0);
    for_each_row_of(matrix, by_row, n_rows, h, {columns, columns + n_selected},
                    [&](std::size_t i, std::size_t k, const std::uint32_t* positions, const double* entries) {
                        const bool contiguous = k > 0 && positions[k - 1] - positions[0] + 1 == k;
                        for (std::size_t a = 0; a < k; ++a) {
                            const double scaled = h[i] * entries[a];
                            double* row = out + positions[a] * m;
                            if (contiguous) dense_axpy(scaled, entries + a, row + positions[a], k - a);
                            else
                                for (std::size_t b = a; b < k; ++b) row[positions[b]] += scaled * entries[b];
                            if (ones) row[n_selected] += scaled;
                        }
                        if (ones) out[m * m - 1] += h[i];
                    });
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < a; ++b) out[a * m + b] = out[b * m + a];
}

}  // namespace skpd
