// out += A x for a matrix A (n, d) that is stored by rows and vectors x (d) that are 0 outside of a small support.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "data/scaled_columns.hpp"

namespace skpd {

// If the support has few of the entries of a sparse matrix, its columns are collected and kept, in one pass over the
// matrix for all columns that are likely to be needed soon. Otherwise all rows are read. Of a dense matrix, the entries
// of the support are read in every row.
class ColumnProducts {
   public:
    using Likely = std::function<bool(std::size_t)>;

    explicit ColumnProducts(const MajorVectors& rows) : rows_(rows) {}

    // out += A x; x (d), out (n). likely(j) must hold for every column j of the support. Returns the number of entries
    // that were read.
    double add(const double* x, const std::vector<std::uint32_t>& support, const Likely& likely, double* out) {
        return rows_.visit([&](const auto& rows) { return add_of(rows, x, support, likely, out); });
    }

   private:
    static constexpr std::size_t all_rows_ratio = 8;  // a support with more than 1/8 of the entries reads all rows

    template <class T>
    double add_of(const Dense<T>& rows, const double* x, const std::vector<std::uint32_t>& support, const Likely&,
                  double* out) {
        for (std::size_t i = 0; i < rows.n_major; ++i) {
            const T* row = rows.major(i);
            double sum = 0.0;
            for (const std::uint32_t j : support) sum += static_cast<double>(row[j]) * x[j];
            out[i] += sum;
        }
        needed_ = rows.n_major * support.size();
        return static_cast<double>(needed_);
    }

    template <class T, class I>
    double add_of(const Sparse<T, I>& rows, const double* x, const std::vector<std::uint32_t>& support,
                  const Likely& likely, double* out) {
        needed_ = 0;
        if (support.empty()) return 0.0;
        const std::size_t n_entries = rows.n_entries();
        place_.resize(rows.n_minor, none);
        const bool missing = std::any_of(support.begin(), support.end(), [&](auto j) { return place_[j] == none; });
        if (missing && reads_all_rows_) {
            by_rows(rows, x, out);
        } else {
            if (missing) collect(rows, likely);
            for (const std::uint32_t j : support) {
                columns_.axpy(place_[j], x[j], out);
                needed_ += columns_.length(place_[j]);
            }
        }
        reads_all_rows_ = all_rows_ratio * needed_ > n_entries;
        return static_cast<double>(missing ? n_entries : needed_);
    }

    template <class T, class I>
    void by_rows(const Sparse<T, I>& rows, const double* x, double* out) {
        for (std::size_t i = 0; i < rows.n_major; ++i) {
            const auto add = [&](double& sum, auto p) {
                const double value = x[rows.indices[p]];
                sum += static_cast<double>(rows.data[p]) * value;
                needed_ += value != 0.0;
            };
            const auto [even, odd] = interleaved_sums<double, 2>(rows.indptr[i], rows.indptr[i + 1], add);
            out[i] += even + odd;
        }
    }

    template <class T, class I>
    void collect(const Sparse<T, I>& rows, const Likely& likely) {
        std::vector<std::int64_t> requested;
        for (std::size_t j = 0; j < rows.n_minor; ++j) {
            if (place_[j] != none || !likely(j)) continue;
            place_[j] = static_cast<std::uint32_t>(columns_.starts.size() - 1 + requested.size());
            requested.push_back(static_cast<std::int64_t>(j));
        }
        std::vector<std::size_t> all(rows.n_major);
        std::iota(all.begin(), all.end(), std::size_t{0});
        const std::vector<double> scale(rows.n_major, 1.0);
        columns_.collect(rows, all, scale, requested.data(), requested.size());
    }

    const MajorVectors rows_;
    std::vector<std::uint32_t> place_;  // of each column among those that are collected
    SparseColumns columns_;
    std::size_t needed_ = 0;
    bool reads_all_rows_ = true;
};

}  // namespace skpd
