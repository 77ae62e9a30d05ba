// Columns of A = diag(h)^(1/2) X, a factor of the curvature A'A = X' diag(h) X, for selected columns of X (n, d) and
// the m rows with h_i > 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "data/products.hpp"
#include "maths/losses.hpp"

namespace skpd {

// Columns a_k (m) that are those of a matrix times one scale, or copies.
struct DenseColumns {
    std::size_t n_rows = 0;
    double scale = 1.0;
    std::vector<const double*> starts{};
    std::vector<std::unique_ptr<double[]>> copies{};

    // Allocates the entries of `count` additional columns.
    double* add(std::size_t count) {
        copies.push_back(std::make_unique_for_overwrite<double[]>(count * n_rows));
        double* begin = copies.back().get();
        for (std::size_t a = 0; a < count; ++a) starts.push_back(begin + a * n_rows);
        return begin;
    }
    double dot(std::size_t a, const double* v) const { return scale * dense_dot(starts[a], v, n_rows); }
    double dot(std::size_t a, const double* v, std::size_t next) const {  // prefetches column next
        return scale * dense_dot(starts[a], v, n_rows, starts[next]);
    }
    void axpy(std::size_t a, double x, double* out) const { dense_axpy(scale * x, starts[a], out, n_rows); }
    // out[k] = a_{indices[k]} . v; v (m)
    void dots(const std::vector<std::size_t>& indices, const double* v, double* out) const {
        std::size_t k = 0;
        for (; k + together <= indices.size(); k += together) {
            dense_dots(four(indices, k), v, n_rows, out + k);
            for (std::size_t i = k; i < k + together; ++i) out[i] *= scale;
        }
        for (; k < indices.size(); ++k) out[k] = dot(indices[k], v);
    }
    // out += sum_k x[k] a_{indices[k]}; out (m)
    void add(const std::vector<std::size_t>& indices, const double* x, double* out) const {
        std::size_t k = 0;
        for (; k + together <= indices.size(); k += together)
            dense_axpys({scale * x[k], scale * x[k + 1], scale * x[k + 2], scale * x[k + 3]}, four(indices, k), out,
                        n_rows);
        for (; k < indices.size(); ++k) axpy(indices[k], x[k], out);
    }
    Four<double> four(const std::vector<std::size_t>& indices, std::size_t k) const {
        return {starts[indices[k]], starts[indices[k + 1]], starts[indices[k + 2]], starts[indices[k + 3]]};
    }
    double square(std::size_t a) const { return scale * dot(a, starts[a]); }
};

constexpr auto none = static_cast<std::uint32_t>(-1);
// place[indices_a] = a for a < count, and none elsewhere; place (n)
template <class Index>
std::vector<std::uint32_t> places(const Index* indices, std::size_t count, std::size_t n) {
    std::vector<std::uint32_t> place(n, none);
    for (std::size_t a = 0; a < count; ++a) place[static_cast<std::size_t>(indices[a])] = static_cast<std::uint32_t>(a);
    return place;
}

// Columns a_k (m) as the positions and values of their entries.
struct SparseColumns {
    std::size_t n_rows = 0;
    std::vector<std::size_t> starts{0};
    std::vector<std::uint32_t> in_rows;
    std::vector<double> entries;

    std::size_t length(std::size_t a) const { return starts[a + 1] - starts[a]; }
    double dot(std::size_t a, const double* v) const {
        const auto [even, odd] = interleaved_sums<double, 2>(starts[a], starts[a + 1], [&](double& sum, std::size_t p) {
            sum += entries[p] * v[in_rows[p]];
        });
        return even + odd;
    }
    double dot(std::size_t a, const double* v, std::size_t) const { return dot(a, v); }
    void axpy(std::size_t a, double x, double* out) const {
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) out[in_rows[p]] += x * entries[p];
    }
    void dots(const std::vector<std::size_t>& indices, const double* v, double* out) const {
        for (std::size_t k = 0; k < indices.size(); ++k) out[k] = dot(indices[k], v);
    }
    void add(const std::vector<std::size_t>& indices, const double* x, double* out) const {
        for (std::size_t k = 0; k < indices.size(); ++k)
            if (x[k] != 0.0) axpy(indices[k], x[k], out);
    }
    double square(std::size_t a) const {
        double sum = 0.0;
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) sum += entries[p] * entries[p];
        return sum;
    }

    // Appends the columns `selected` of diag(scale) X for a matrix X that is stored by rows, restricted to these rows
    // (m); scale (m).
    template <class M>
    void collect(const M& matrix, const std::vector<std::size_t>& rows, const std::vector<double>& scale,
                 const std::int64_t* selected, std::size_t n_selected) {
        const std::vector<std::uint32_t> place_of = places(selected, n_selected, matrix.n_minor);
        std::size_t max_length = 0;
        for (const std::size_t i : rows) max_length = std::max(max_length, matrix.length(i));
        std::vector<std::uint32_t> positions(max_length);  // place_of each entry of a row that is selected
        std::vector<double> values(max_length);
        const auto match_entries = [&](std::size_t i) {  // the loop has no branches, which would be mispredicted
            std::size_t n_matches = 0;
            matrix.for_each(i, [&](std::size_t j, double x) {
                positions[n_matches] = place_of[j];
                values[n_matches] = x;
                n_matches += place_of[j] != none;
            });
            return n_matches;
        };
        std::vector<std::size_t> next(n_selected + 1, 0);
        for (const std::size_t i : rows) {
            const std::size_t n_matches = match_entries(i);
            for (std::size_t k = 0; k < n_matches; ++k) ++next[positions[k] + 1];
        }
        next[0] = entries.size();
        for (std::size_t a = 0; a < n_selected; ++a) starts.push_back(next[a + 1] += next[a]);
        entries.resize(next[n_selected]);
        in_rows.resize(next[n_selected]);
        for (std::size_t t = 0; t < rows.size(); ++t) {
            const std::size_t n_matches = match_entries(rows[t]);
            for (std::size_t k = 0; k < n_matches; ++k) {
                const std::size_t p = next[positions[k]]++;
                entries[p] = scale[t] * values[k];
                in_rows[p] = static_cast<std::uint32_t>(t);
            }
        }
    }
};

// The columns `selected` of diag(h)^(1/2) X, after h^(1/2) if `ones` is set. The columns of a dense matrix that is
// stored by columns are borrowed if all h_i are equal.
class ScaledColumns {
   public:
    ScaledColumns(ScaledColumns&&) = default;
    template <class M>
    ScaledColumns(const M& matrix, bool by_row, std::size_t n_rows, const double* h, const std::int64_t* selected,
                  std::size_t n_selected, bool ones)
        : borrows_(std::is_same_v<M, Dense<double>> && !by_row && n_rows > 0 && h[0] > 0.0 &&
                   std::all_of(h, h + n_rows, [&](double x) { return x == h[0]; })) {
        for (std::size_t i = 0; i < n_rows; ++i) {
            if (!(h[i] > 0.0)) continue;
            rows_.push_back(i);
            scale_.push_back(borrows_ ? 1.0 : std::sqrt(h[i]));
        }
        if constexpr (is_dense<M>) {
            auto& columns = columns_.emplace<DenseColumns>(rows_.size());
            if (borrows_) columns.scale = std::sqrt(h[0]);
            if (ones) std::copy(scale_.begin(), scale_.end(), columns.add(1));
        } else {
            auto& columns = columns_.emplace<SparseColumns>(rows_.size());
            if (ones) {
                columns.entries = scale_;
                columns.starts.push_back(rows_.size());
                for (std::size_t t = 0; t < rows_.size(); ++t) columns.in_rows.push_back(static_cast<std::uint32_t>(t));
            }
        }
        append(matrix, by_row, n_rows, selected, n_selected);
        visit([&](const auto& columns) {
            for (std::size_t a = 0; a < n_selected + ones; ++a) squares_.push_back(columns.square(a));
        });
    }

    template <class Visit>
    decltype(auto) visit(Visit visit) const { return std::visit(visit, columns_); }
    std::size_t n_rows() const { return rows_.size(); }
    std::size_t size() const { return squares_.size(); }
    const std::vector<double>& squares() const { return squares_; }  // ||A_a||^2

   private:
    template <class T>
    void append(const Dense<T>& matrix, bool by_row, std::size_t n_rows, const std::int64_t* selected,
                std::size_t n_selected) {
        auto& columns = std::get<DenseColumns>(columns_);
        const std::size_t c = rows_.size();
        if constexpr (std::is_same_v<T, double>) {
            if (borrows_) {
                for (std::size_t a = 0; a < n_selected; ++a)
                    columns.starts.push_back(matrix.major(static_cast<std::size_t>(selected[a])));
                return;
            }
        }
        double* begin = columns.add(n_selected);
        if (by_row) {
            constexpr std::size_t tile = 128;  // so many columns at a time, since each is written to a page of its own
            for (std::size_t first = 0; first < n_selected; first += tile)
                for (std::size_t t = 0; t < c; ++t) {
                    const T* x = matrix.major(rows_[t]);
                    for (std::size_t a = first; a < std::min(first + tile, n_selected); ++a)
                        begin[a * c + t] = scale_[t] * static_cast<double>(x[selected[a]]);
                }
        } else {
            for (std::size_t a = 0; a < n_selected; ++a) {
                const T* x = matrix.major(static_cast<std::size_t>(selected[a]));
                const auto next = static_cast<std::size_t>(selected[std::min(a + 1, n_selected - 1)]);
                constexpr std::size_t short_vector = (std::size_t{1} << 14) / sizeof(T);
                prefetch(matrix.major(next), std::min(matrix.n_minor, short_vector));
                for (std::size_t t = 0; t < c; ++t)
                    begin[a * c + t] = scale_[t] * static_cast<double>(x[c == n_rows ? t : rows_[t]]);
            }
        }
    }
    template <class T, class I>
    void append(const Sparse<T, I>& matrix, bool by_row, std::size_t n_rows, const std::int64_t* selected,
                std::size_t n_selected) {
        auto& columns = std::get<SparseColumns>(columns_);
        if (by_row) return columns.collect(matrix, rows_, scale_, selected, n_selected);
        const std::vector<std::uint32_t> place_of = places(rows_.data(), rows_.size(), n_rows);
        for (std::size_t a = 0; a < n_selected; ++a) {
            matrix.for_each(static_cast<std::size_t>(selected[a]), [&](std::size_t i, double x) {
                if (place_of[i] == none) return;
                columns.entries.push_back(scale_[place_of[i]] * x);
                columns.in_rows.push_back(place_of[i]);
            });
            columns.starts.push_back(columns.entries.size());
        }
    }

    bool borrows_;  // whether columns of the matrix are borrowed, which must then outlive this object
    std::vector<std::size_t> rows_;  // the rows with h_i > 0
    std::vector<double> scale_;  // h_i^(1/2) of these rows; 1 if all columns have one scale
    std::variant<DenseColumns, SparseColumns> columns_;
    std::vector<double> squares_;
};

}  // namespace skpd
