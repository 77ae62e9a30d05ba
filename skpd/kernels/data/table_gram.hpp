// out = X_W' diag(h) X_W of a dense X (n, p) over few columns W (d), and a column of ones if `ones` is set; h (n), out
// (m, m). BLAS would need copies that are larger than a cache, and takes over where columns are many
// (designs/dense_gram.py).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/layouts.hpp"

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

template <class T>
void table_gram(const Dense<T>& X, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* columns,
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

}  // namespace skpd
