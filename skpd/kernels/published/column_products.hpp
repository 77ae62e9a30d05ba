// out += A x for a matrix A (n, d) that is stored by rows and vectors x (d) that are 0 outside of a small support.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/layouts.hpp"

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
    // Returns the number of entries in the columns of the last support.
    double needed() const { return static_cast<double>(needed_); }

   private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);  // the start of a column that is not collected
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
        return needed();
    }

    template <class T, class I>
    double add_of(const Sparse<T, I>& rows, const double* x, const std::vector<std::uint32_t>& support,
                  const Likely& likely, double* out) {
        needed_ = 0;
        if (support.empty()) return 0.0;
        const std::size_t n_entries = rows.n_entries();
        if (begin_.empty()) {
            begin_.assign(rows.n_minor, none);
            end_.assign(rows.n_minor, none);
        }
        const bool missing = !std::all_of(support.begin(), support.end(), [&](auto j) { return collected(j); });
        if (missing && reads_all_rows_) {
            by_rows(rows, x, out);
        } else {
            if (missing) collect(rows, likely);
            for (const std::uint32_t j : support) {
                for (std::size_t p = begin_[j]; p < end_[j]; ++p) out[row_[p]] += x[j] * value_[p];
                needed_ += end_[j] - begin_[j];
            }
        }
        reads_all_rows_ = all_rows_ratio * needed_ > n_entries;
        return static_cast<double>(missing ? n_entries : needed_);
    }

    bool collected(std::size_t j) const { return begin_[j] != none; }

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
        struct Entry {
            std::uint32_t row, column;
            double value;
        };
        const std::size_t d = rows.n_minor;
        std::vector<unsigned char> is_requested(d);
        for (std::size_t j = 0; j < d; ++j) is_requested[j] = !collected(j) && likely(j);
        std::vector<Entry> entries;
        std::vector<std::size_t> count(d, 0);
        for (std::size_t i = 0; i < rows.n_major; ++i)
            rows.for_each(i, [&](std::size_t j, double a) {
                if (!is_requested[j]) return;
                entries.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), a});
                ++count[j];
            });
        std::size_t end = row_.size();
        for (std::size_t j = 0; j < d; ++j)
            if (is_requested[j]) {
                begin_[j] = end_[j] = end;
                end += count[j];
            }
        row_.resize(end);
        value_.resize(end);
        for (const auto& [row, column, value] : entries) {
            const std::size_t to = end_[column]++;
            row_[to] = row;
            value_[to] = value;
        }
    }

    const MajorVectors rows_;
    std::vector<std::size_t> begin_, end_;  // where the columns begin and end in row_ and value_
    std::vector<std::uint32_t> row_;
    std::vector<double> value_;
    std::size_t needed_ = 0;
    bool reads_all_rows_ = true;
};

}  // namespace skpd
