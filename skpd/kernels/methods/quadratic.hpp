// Coordinate descent on a penalised quadratic given by its Gram matrix.
//
//     minimise over p   g'(p - p_0) + (p - p_0)' H (p - p_0) / 2 + R(p)
//
// with the gradient r = g + H (p - p_0) kept up to date.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "data/products.hpp"
#include "methods/coordinate_sweeps.hpp"

namespace skpd {

struct GramQuadratic {
    const double* H;
    std::size_t n;
    double *p, *r;

    double curvature(std::size_t j) const { return H[j * n + j]; }
    double gradient(std::size_t j) const { return r[j]; }
    void shift(std::size_t j, double change) { dense_axpy(change, H + j * n, r, n); }
    Block block(std::size_t, std::size_t first, std::size_t size) const {
        const double* entries = H + first * n + first;
        return {entries, n, row_sum_norm(entries, n, size)};
    }

    // Sweeps over the coordinates until none moves its gradient by more than tol, none arrives at its
    // kink or leaves it, or the given number of sweeps. Returns the largest change of a gradient in the last sweep.
    template <class R>
    double descend(const R& penalty, int sweeps, double tol) {
        Sweep last;
        for (int k = 0; k < sweeps; ++k) {
            last = sweep(*this, penalty);
            if (last.largest <= tol || last.settled) break;
        }
        return last.largest;
    }

    std::size_t n_responses() const { return n; }
    // Adds the change of the gradient that follows from one of p; returns that of the quadratic.
    double respond(const std::vector<std::size_t>& support, const std::vector<double>& change,
                   std::vector<double>& response) const {
        double gain = 0.0;
        for (std::size_t a = 0; a < support.size(); ++a) {
            gain += change[a] * r[support[a]];
            if (change[a] != 0.0) dense_axpy(change[a], H + support[a] * n, response.data(), n);
        }
        for (std::size_t a = 0; a < support.size(); ++a) gain += 0.5 * change[a] * response[support[a]];
        return gain;
    }
    void take(const std::vector<double>& response) {
        for (std::size_t j = 0; j < n; ++j) r[j] += response[j];
    }
};

// visit(i, k, places, entries) for the rows with h_i != 0: their k entries in some columns,
// and the places of these among the columns.
template <class M, class Visit>
void for_each_row_of(const M& matrix, bool by_row, std::size_t n_rows, std::size_t n_columns, const double* h,
                     const std::vector<std::int64_t>& columns, Visit visit) {
    using Place = std::uint32_t;
    const std::size_t m = columns.size();
    if (by_row) {
        constexpr auto none = static_cast<Place>(-1);
        std::vector<Place> place_of(n_columns, none), places;
        std::vector<double> entries;
        for (std::size_t a = 0; a < m; ++a) place_of[static_cast<std::size_t>(columns[a])] = static_cast<Place>(a);
        for (std::size_t i = 0; i < n_rows; ++i) {
            if (h[i] == 0.0) continue;
            const std::size_t length = matrix.length(i);
            if (places.size() < length) {
                places.resize(length);
                entries.resize(length);
            }
            std::size_t k = 0;
            matrix.for_each(i, [&](std::size_t j, double x) {  // no branches: they would be guesses
                places[k] = place_of[j];
                entries[k] = x;
                k += static_cast<std::size_t>((place_of[j] != none) & (x != 0.0));
            });
            visit(i, k, places.data(), entries.data());
        }
        return;
    }
    std::vector<std::size_t> start(n_rows + 1, 0);
    const auto counts = [&](std::size_t i, double x) { return h[i] != 0.0 && x != 0.0; };
    for (const std::int64_t column : columns)
        matrix.for_each(static_cast<std::size_t>(column), [&](std::size_t i, double x) { start[i + 1] += counts(i, x); });
    for (std::size_t i = 0; i < n_rows; ++i) start[i + 1] += start[i];
    std::vector<Place> places(start[n_rows]);
    std::vector<double> entries(start[n_rows]);
    std::vector<std::size_t> next(start.begin(), start.end() - 1);
    for (std::size_t a = 0; a < m; ++a)
        matrix.for_each(static_cast<std::size_t>(columns[a]), [&](std::size_t i, double x) {
            if (!counts(i, x)) return;
            places[next[i]] = static_cast<Place>(a);
            entries[next[i]++] = x;
        });
    for (std::size_t i = 0; i < n_rows; ++i)
        if (h[i] != 0.0) visit(i, start[i + 1] - start[i], places.data() + start[i], entries.data() + start[i]);
}

// sums[b] = sum_p x_p rows(places_p, b) over rows of width numbers
template <std::size_t width, class T, class I>
SKPD_CLONES void meet(const T* x, const I* places, std::size_t n, const double* rows, double* sums) {
    double sum[width] = {};
    for (std::size_t p = 0; p < n; ++p) {
        const double* row = rows + static_cast<std::size_t>(places[p]) * width;
        const double entry = static_cast<double>(x[p]);
        for (std::size_t b = 0; b < width; ++b) sum[b] += entry * row[b];
    }
    for (std::size_t b = 0; b < width; ++b) sums[b] = sum[b];
}
template <std::size_t width, class T>
SKPD_CLONES void meet(const T* x, std::size_t n, const double* rows, double* sums) {
    double sum[width] = {};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t b = 0; b < width; ++b) sum[b] += static_cast<double>(x[i]) * rows[i * width + b];
    for (std::size_t b = 0; b < width; ++b) sums[b] = sum[b];
}

// out(b, a) = sum_i h_i x_ib x_ia over width columns b and some columns a of a matrix stored by
// columns: the former are spread over the rows, side by side, and met there by the latter.
// ``rows`` holds zeros before and after.
template <std::size_t width, class M, class Write>
void products_of_columns(const M& matrix, const double* h, const std::int64_t* block, std::size_t n_block,
                         const std::int64_t* columns, std::size_t n_columns, double* rows, Write write) {
    for (std::size_t b = 0; b < n_block; ++b)
        matrix.for_each(static_cast<std::size_t>(block[b]),
                        [&](std::size_t i, double x) { rows[i * width + b] = h[i] * x; });
    double sums[width];
    for (std::size_t a = 0; a < n_columns; ++a) {
        const auto j = static_cast<std::size_t>(columns[a]);
        if constexpr (is_dense<M>) meet<width>(matrix.major(j), matrix.n_minor, rows, sums);
        else meet<width>(matrix.data + matrix.indptr[j], matrix.indices + matrix.indptr[j], matrix.length(j), rows, sums);
        for (std::size_t b = 0; b < n_block; ++b) write(b, a, sums[b]);
    }
    for (std::size_t b = 0; b < n_block; ++b)
        matrix.for_each(static_cast<std::size_t>(block[b]), [&](std::size_t i, double) { rows[i * width + b] = 0.0; });
}

constexpr std::size_t few_columns = 80;  // so many, and meeting them in blocks takes less time than sorting by rows

// Calls products_of_columns for blocks of columns, each with all columns from place(first) on.
template <class M, class Begin, class Write>
void in_blocks(const M& matrix, std::size_t n_rows, const double* h, const std::int64_t* right, std::size_t n_right,
               const std::int64_t* left, std::size_t n_left, Begin begin, Write write) {
    constexpr std::size_t most = 8;
    std::vector<double> rows(n_rows * (n_right == 1 ? 1 : n_right <= 4 ? 4 : most));
    for (std::size_t first = 0; first < n_right;) {
        const std::size_t k = std::min(n_right - first, most), start = begin(first);
        const auto put = [&](std::size_t b, std::size_t a, double sum) { write(first + b, start + a, sum); };
        const auto run = [&]<std::size_t width>() {
            products_of_columns<width>(matrix, h, right + first, k, left + start, n_left - start, rows.data(), put);
        };
        if (k == 1) run.template operator()<1>();
        else if (k <= 4) run.template operator()<4>();
        else run.template operator()<most>();
        first += k;
    }
}

template <class M>
double weighted_sum(const M& matrix, const double* h, std::int64_t column) {
    double sum = 0.0;
    matrix.for_each(static_cast<std::size_t>(column), [&](std::size_t i, double x) { sum += h[i] * x; });
    return sum;
}

// out (m x m) = sum_i h_i x_iW x_iW' over the columns W, in increasing order, with a last
// column of ones if asked for. Only rows with h_i != 0 are read.
template <class M>
void gram(const M& matrix, bool by_row, std::size_t n_rows, std::size_t n_columns, const double* h,
          const std::int64_t* columns, std::size_t n_selected, bool ones, double* out) {
    const std::size_t m = n_selected + ones;
    if (!by_row && n_selected <= few_columns) {
        in_blocks(matrix, n_rows, h, columns, n_selected, columns, n_selected, [](std::size_t first) { return first; },
                  [&](std::size_t b, std::size_t a, double sum) { out[b * m + a] = out[a * m + b] = sum; });
        if (!ones) return;
        for (std::size_t a = 0; a < n_selected; ++a)
            out[a * m + n_selected] = out[n_selected * m + a] = weighted_sum(matrix, h, columns[a]);
        out[m * m - 1] = std::accumulate(h, h + n_rows, 0.0);
        return;
    }
    std::fill_n(out, m * m, 0.0);
    for_each_row_of(matrix, by_row, n_rows, n_columns, h, {columns, columns + n_selected},
                    [&](std::size_t i, std::size_t k, const std::uint32_t* places, const double* entries) {
                        const bool contiguous = k > 0 && places[k - 1] - places[0] + 1 == k;
                        for (std::size_t a = 0; a < k; ++a) {
                            const double scaled = h[i] * entries[a];
                            double* row = out + places[a] * m;
                            if (contiguous) dense_axpy(scaled, entries + a, row + places[a], k - a);
                            else
                                for (std::size_t b = a; b < k; ++b) row[places[b]] += scaled * entries[b];
                            if (ones) row[n_selected] += scaled;
                        }
                        if (ones) out[m * m - 1] += h[i];
                    });
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < a; ++b) out[a * m + b] = out[b * m + a];
}

// out (n_right x n_left + n_right + ones) = sum_i h_i x_iR (x_iL, x_iR)' over the columns R and L,
// with a last column sum_i h_i x_iR if asked for.
template <class M>
void cross_gram(const M& matrix, bool by_row, std::size_t n_rows, std::size_t n_columns, const double* h,
                const std::int64_t* left, std::size_t n_left, const std::int64_t* right, std::size_t n_right, bool ones,
                double* out) {
    const std::size_t n_both = n_left + n_right, m = n_both + ones;
    std::vector<std::int64_t> columns(left, left + n_left);
    columns.insert(columns.end(), right, right + n_right);
    if (!by_row && n_right <= few_columns) {
        in_blocks(matrix, n_rows, h, right, n_right, columns.data(), n_both, [](std::size_t) { return std::size_t{0}; },
                  [&](std::size_t b, std::size_t a, double sum) { out[b * m + a] = sum; });
        for (std::size_t b = 0; ones && b < n_right; ++b) out[b * m + n_both] = weighted_sum(matrix, h, right[b]);
        return;
    }
    std::fill_n(out, n_right * m, 0.0);
    for_each_row_of(matrix, by_row, n_rows, n_columns, h, columns,
                    [&](std::size_t i, std::size_t k, const std::uint32_t* places, const double* entries) {
                        for (std::size_t b = 0; b < k; ++b) {
                            if (places[b] < n_left) continue;
                            const double scaled = h[i] * entries[b];
                            double* row = out + (places[b] - n_left) * m;
                            for (std::size_t a = 0; a < k; ++a) row[places[a]] += scaled * entries[a];
                            if (ones) row[n_both] += scaled;
                        }
                    });
}

}  // namespace skpd
