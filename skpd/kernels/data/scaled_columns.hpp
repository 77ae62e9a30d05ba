// Columns of diag(h)^(1/2) X, a factor of the curvature X' diag(h) X, for some columns of X and the rows with h > 0.
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

// Columns of a matrix times one scale, or copies of their own.
struct DenseColumns {
    std::size_t n_rows = 0;
    double scale = 1.0;
    std::vector<const double*> starts{};
    std::vector<std::unique_ptr<double[]>> copies{};

    // Allocates the entries of ``count`` additional columns
    double* add(std::size_t count) {
        copies.push_back(std::make_unique_for_overwrite<double[]>(count * n_rows));
        double* begin = copies.back().get();
        for (std::size_t a = 0; a < count; ++a) starts.push_back(begin + a * n_rows);
        return begin;
    }
    double dot(std::size_t a, const double* v) const { return scale * dense_dot(starts[a], v, n_rows); }
    double dot(std::size_t a, const double* v, std::size_t next) const {  // column next comes after it
        return scale * dense_dot(starts[a], v, n_rows, starts[next]);
    }
    void axpy(std::size_t a, double x, double* out) const { dense_axpy(scale * x, starts[a], out, n_rows); }
    // out[k] = column some[k] . v
    void dots(const std::vector<std::size_t>& indices, const double* v, double* out) const {
        std::size_t k = 0;
        for (; k + together <= indices.size(); k += together) {
            dense_dots(four(indices, k), v, n_rows, out + k);
            for (std::size_t i = k; i < k + together; ++i) out[i] *= scale;
        }
        for (; k < indices.size(); ++k) out[k] = dot(indices[k], v);
    }
    // out += sum_k x[k] column some[k]
    void add(const std::vector<std::size_t>& indices, const double* x, double* out) const {
        std::size_t k = 0;
        for (; k + together <= indices.size(); k += together)
            dense_axpys({scale * x[k], scale * x[k + 1], scale * x[k + 2], scale * x[k + 3]}, four(indices, k), out, n_rows);
        for (; k < indices.size(); ++k) axpy(indices[k], x[k], out);
    }
    Four<double> four(const std::vector<std::size_t>& indices, std::size_t k) const {
        return {starts[indices[k]], starts[indices[k + 1]], starts[indices[k + 2]], starts[indices[k + 3]]};
    }
    double square(std::size_t a) const { return scale * dot(a, starts[a]); }
};

struct SparseColumns {
    std::size_t n_rows = 0;
    std::vector<std::size_t> starts{0};
    std::vector<std::uint32_t> places;
    std::vector<double> entries;

    double dot(std::size_t a, const double* v) const {
        const auto [even, odd] = two_chains<double>(starts[a], starts[a + 1], [&](double& sum, std::size_t p) {
            sum += entries[p] * v[places[p]];
        });
        return even + odd;
    }
    double dot(std::size_t a, const double* v, std::size_t) const { return dot(a, v); }
    void axpy(std::size_t a, double x, double* out) const {
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) out[places[p]] += x * entries[p];
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
};

// Columns of diag(h)^(1/2) X, more of them as they are asked for, and of h^(1/2) if wanted. Those of a
// dense matrix by columns are not copied where the h_i are equal.
class ScaledColumns {
   public:
    ScaledColumns(ScaledColumns&&) = default;
    template <class M>
    ScaledColumns(const M&, bool by_row, std::size_t n_rows, const double* h, bool ones)
        : n_samples_(n_rows),
          borrows_(std::is_same_v<M, Dense<double>> && !by_row && n_rows > 0 && h[0] > 0.0 &&
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
                for (std::size_t t = 0; t < rows_.size(); ++t) columns.places.push_back(static_cast<std::uint32_t>(t));
            }
        }
        if (ones) measure(1);
    }

    // Puts columns of the matrix behind those at hand.
    template <class T>
    void append(const Dense<T>& matrix, bool by_row, std::size_t, std::size_t, const std::int64_t* wanted,
                std::size_t n_wanted) {
        auto& columns = std::get<DenseColumns>(columns_);
        const std::size_t c = rows_.size();
        if constexpr (std::is_same_v<T, double>) {
            if (borrows_) {
                for (std::size_t a = 0; a < n_wanted; ++a)
                    columns.starts.push_back(matrix.major(static_cast<std::size_t>(wanted[a])));
                return measure(n_wanted);
            }
        }
        double* begin = columns.add(n_wanted);
        if (by_row) {
            constexpr std::size_t tile = 128;  // columns at a time: as many pages are written to
            for (std::size_t first = 0; first < n_wanted; first += tile)
                for (std::size_t t = 0; t < c; ++t) {
                    const T* x = matrix.major(rows_[t]);
                    for (std::size_t a = first; a < std::min(first + tile, n_wanted); ++a)
                        begin[a * c + t] = scale_[t] * static_cast<double>(x[wanted[a]]);
                }
        } else {
            for (std::size_t a = 0; a < n_wanted; ++a) {
                const T* x = matrix.major(static_cast<std::size_t>(wanted[a]));
                prefetch(matrix.major(static_cast<std::size_t>(wanted[std::min(a + 1, n_wanted - 1)])), matrix.n_minor);
                if (c == n_samples_) {
                    for (std::size_t t = 0; t < c; ++t) begin[a * c + t] = scale_[t] * static_cast<double>(x[t]);
                } else {
                    for (std::size_t t = 0; t < c; ++t) begin[a * c + t] = scale_[t] * static_cast<double>(x[rows_[t]]);
                }
            }
        }
        measure(n_wanted);
    }
    template <class T, class I>
    void append(const Sparse<T, I>& matrix, bool by_row, std::size_t n_rows, std::size_t n_columns,
                const std::int64_t* wanted, std::size_t n_wanted) {
        auto& columns = std::get<SparseColumns>(columns_);
        constexpr auto none = static_cast<std::uint32_t>(-1);
        if (by_row) {
            std::vector<std::uint32_t> place_of(n_columns, none);
            for (std::size_t a = 0; a < n_wanted; ++a) place_of[static_cast<std::size_t>(wanted[a])] = static_cast<std::uint32_t>(a);
            std::size_t longest = 0;
            for (const std::size_t i : rows_) longest = std::max(longest, matrix.length(i));
            std::vector<std::uint32_t> met(longest);  // those wanted, of a row
            std::vector<double> values(longest);
            const auto meet = [&](std::size_t i) {  // without branches: they would be guesses
                std::size_t n_met = 0;
                matrix.for_each(i, [&](std::size_t j, double x) {
                    met[n_met] = place_of[j];
                    values[n_met] = x;
                    n_met += place_of[j] != none;
                });
                return n_met;
            };
            std::vector<std::size_t> next(n_wanted + 1, 0);
            for (const std::size_t i : rows_) {
                const std::size_t n_met = meet(i);
                for (std::size_t k = 0; k < n_met; ++k) ++next[met[k] + 1];
            }
            next[0] = columns.entries.size();
            for (std::size_t a = 0; a < n_wanted; ++a) {
                next[a + 1] += next[a];
                columns.starts.push_back(next[a + 1]);
            }
            columns.entries.resize(next[n_wanted]);
            columns.places.resize(next[n_wanted]);
            for (std::size_t t = 0; t < rows_.size(); ++t) {
                const std::size_t n_met = meet(rows_[t]);
                for (std::size_t k = 0; k < n_met; ++k) {
                    const std::size_t p = next[met[k]]++;
                    columns.entries[p] = scale_[t] * values[k];
                    columns.places[p] = static_cast<std::uint32_t>(t);
                }
            }
        } else {
            std::vector<std::uint32_t> place_of(n_rows, none);
            for (std::size_t t = 0; t < rows_.size(); ++t) place_of[rows_[t]] = static_cast<std::uint32_t>(t);
            for (std::size_t a = 0; a < n_wanted; ++a) {
                matrix.for_each(static_cast<std::size_t>(wanted[a]), [&](std::size_t i, double x) {
                    if (place_of[i] == none) return;
                    columns.entries.push_back(scale_[place_of[i]] * x);
                    columns.places.push_back(place_of[i]);
                });
                columns.starts.push_back(columns.entries.size());
            }
        }
        measure(n_wanted);
    }

    template <class Visit>
    decltype(auto) visit(Visit visit) const { return std::visit(visit, columns_); }
    bool fits(const AnyLayout& layout) const {
        const bool dense = std::holds_alternative<DenseColumns>(columns_);
        return std::visit([&](const auto& of) { return is_dense<std::remove_cvref_t<decltype(of)>> == dense; }, layout);
    }
    std::size_t n_samples() const { return n_samples_; }
    std::size_t n_rows() const { return rows_.size(); }
    std::size_t size() const { return squares_.size(); }
    const std::vector<double>& squares() const { return squares_; }  // ||A_a||^2

   private:
    void measure(std::size_t n_new) {
        visit([&](const auto& columns) {
            for (std::size_t k = 0; k < n_new; ++k) {
                squares_.push_back(columns.square(squares_.size()));
            }
        });
    }

    std::size_t n_samples_;
    bool borrows_;                   // the columns of the matrix, which must outlive it
    std::vector<std::size_t> rows_;  // with h > 0
    std::vector<double> scale_;      // h^(1/2) there; 1 where the columns have one scale
    std::variant<DenseColumns, SparseColumns> columns_;
    std::vector<double> squares_;
};

}  // namespace skpd
