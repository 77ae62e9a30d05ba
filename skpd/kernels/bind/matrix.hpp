// The data matrix X (n, d) as Python holds it, with the products X v, X'u and X' diag(h) X.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "data/gram.hpp"
#include "data/parts.hpp"
#include "data/products.hpp"

namespace skpd {

// Returns function(loss) for the loss that a variant points to, while other threads may call Python.
template <class Losses, class Function>
auto with_loss(const Losses& losses, Function function) {
    nb::gil_scoped_release release;
    return std::visit([&](const auto* loss) { return function(*loss); }, losses);
}

// A matrix in one of the layouts, which keeps the arrays that it borrows alive.
class Matrix {
   public:
    using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

    // A table of one row or column is contiguous both ways, and is taken by rows unless by_columns is set.
    template <class T>
    static Matrix dense(Table<T> table, bool by_columns, std::size_t n_threads) {
        const bool by_row = !by_columns && (table.stride(1) == 1 || table.shape(1) == 1);
        require(by_row || table.stride(0) == 1 || table.shape(0) == 1,
                "a dense matrix must be contiguous along its rows or its columns");
        const std::size_t major = by_row ? 0 : 1, minor = 1 - major;  // axes of the table
        const Dense<T> layout{table.data(), table.shape(major), table.shape(minor), table.stride(major)};
        return Matrix(layout, table.shape(0), table.shape(1), by_row, n_threads, {nb::cast(table)});
    }

    template <class T, class I>
    static Matrix sparse(Array<const T> data, Array<const I> indices, Array<const I> indptr,
                         std::size_t n_rows, std::size_t n_columns, bool by_row, std::size_t n_threads) {
        const std::size_t n_major = by_row ? n_rows : n_columns, n_minor = by_row ? n_columns : n_rows;
        require(indptr.shape(0) == n_major + 1 && indices.shape(0) == data.shape(0),
                "indptr, indices and data of a sparse matrix do not fit its shape");
        // Neither SciPy nor scikit-learn checks these, and scatter would write outside of its result.
        bool fits = indptr.data()[0] == 0;
        for (std::size_t k = 0; k < n_major && fits; ++k) fits = indptr.data()[k] <= indptr.data()[k + 1];
        require(fits && indptr.data()[n_major] <= static_cast<I>(data.shape(0)),
                "indptr of a sparse matrix must start at 0, not decrease and end within its data");
        const auto n_entries = static_cast<std::size_t>(indptr.data()[n_major]);
        require(all_below(indices.data(), n_entries, n_minor), "indices of a sparse matrix must lie within its shape");
        const Sparse<T, I> layout{data.data(), indices.data(), indptr.data(), n_major, n_minor};
        return Matrix(layout, n_rows, n_columns, by_row, n_threads,
                      {nb::cast(data), nb::cast(indices), nb::cast(indptr)});
    }

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_columns() const { return n_columns_; }
    bool by_row() const { return by_row_; }
    const AnyLayout& layout() const { return layout_; }
    template <class Visit>
    auto visit(Visit visit) const {
        return std::visit(visit, layout_);
    }
    std::size_t n_entries() const {
        return visit([](const auto& layout) { return layout.n_entries(); });
    }

    template <class Map>
    auto matvec(In coef) const {
        return product<Map>(coef, n_columns_, n_rows_, by_row_);
    }
    template <class Map>
    auto rmatvec(In rows) const {
        return product<Map>(rows, n_rows_, n_columns_, !by_row_);
    }

    // X_W' rows, over the columns W of a matrix that is dense or stored by columns; rows (n)
    Vector rmatvec_some(In rows, Indices columns) const {
        require(rows.shape(0) == n_rows_, "the vector does not fit the matrix");
        require_within(columns, n_columns_, "columns must lie in the matrix");
        return filled(columns.shape(0), [&](double* out) {
            visit([&](const auto& layout) {
                if (!by_row_) gather_selected(layout, columns.data(), columns.shape(0), rows.data(), out);
                else if constexpr (is_dense<std::remove_cvref_t<decltype(layout)>>)
                    scatter_selected(layout, columns.data(), columns.shape(0), rows.data(), out);
                else throw std::invalid_argument("a sparse matrix must be stored by columns");
            });
        });
    }

    // (value, error) of X coef + intercept; coef (d)
    auto matvec_bounded(In coef, double intercept) const {
        require(coef.shape(0) == n_columns_, "the vector does not fit the matrix");
        BoundedVector out(n_rows_, intercept);
        return bounded(coef.data(), out, by_row_);
    }
    // (value, error) of X' (weights * rows); weights and rows (n)
    auto rmatvec_bounded(In weights, In rows) const {
        require(have_length(n_rows_, weights, rows), "the vector does not fit the matrix");
        std::vector<double> v(n_rows_);
        for (std::size_t i = 0; i < n_rows_; ++i) v[i] = weights.data()[i] * rows.data()[i];
        BoundedVector out(n_columns_);
        return bounded(v.data(), out, !by_row_);
    }
    // (high, low, error) of X coef + intercept; coef (d)
    auto matvec_compensated(In coef, double intercept) const {
        require(coef.shape(0) == n_columns_, "the vector does not fit the matrix");
        CompensatedVector v(n_columns_), out(n_rows_, intercept);
        std::copy_n(coef.data(), n_columns_, v.high.begin());
        return compensated(v, out, by_row_);
    }
    // (high, low, error) of X' (weights * rows); weights and rows (n)
    auto rmatvec_compensated(In weights, In rows) const {
        require(have_length(n_rows_, weights, rows), "the vector does not fit the matrix");
        CompensatedVector v(n_rows_), out(n_columns_);
        exact_products(weights.data(), rows.data(), v.high.data(), v.low.data(), n_rows_);
        return compensated(v, out, !by_row_);
    }

    // out = X_W' diag(h) X_W over the columns W, with a last column of ones if `ones` is set; h (n), out (m, m)
    void gram(In h, Indices columns, bool ones, OutTable out) const {
        const std::size_t size = columns.shape(0) + ones;
        require(h.shape(0) == n_rows_ && have_shape(size, size, out), "the vector does not fit the matrix");
        require_within(columns, n_columns_, "columns must increase and lie in the matrix", 0, true);
        nb::gil_scoped_release release;
        visit([&](const auto& layout) {
            skpd::gram(layout, by_row_, n_rows_, h.data(), columns.data(), columns.shape(0), ones, out.data());
        });
    }

   private:
    Matrix(AnyLayout layout, std::size_t n_rows, std::size_t n_columns, bool by_row, std::size_t n_threads,
           std::vector<nb::object> owners)
        : layout_(layout), n_rows_(n_rows), n_columns_(n_columns), n_threads_(n_threads), by_row_(by_row),
          owners_(std::move(owners)) {}

    // The number of threads for a product with v (n), from the number of entries of the matrix that are multiplied by a
    // number other than 0.
    std::size_t parts(const double* v, std::size_t n) const {
        constexpr std::size_t min_entries = std::size_t{1} << 19;  // the least number of entries for each thread
        if (n_threads_ < 2 || n_entries() < 2 * min_entries) return 1;
        const auto count = static_cast<std::size_t>(std::count_if(v, v + n, [](double x) { return x != 0.0; }));
        return std::clamp<std::size_t>(n_entries() / n * count / min_entries, 1, n_threads_);
    }

    // Calls work(part, first) on parts of the matrix, for a product with v, while other threads may call Python.
    template <class Work>
    void multiply_parts(const double* v, bool gathers, Work work) const {
        nb::gil_scoped_release release;
        const std::size_t n_parts = parts(v, gathers == by_row_ ? n_columns_ : n_rows_);
        visit([&](const auto& layout) { by_parts(layout, gathers, n_parts, work); });
    }

    template <class Map>
    Vector product(In v, std::size_t n_in, std::size_t n_out, bool gathers) const {
        require(v.shape(0) == n_in, "the vector does not fit the matrix");
        std::vector<double> out(n_out, 0.0);
        multiply_parts(v.data(), gathers, [&](const auto& part, std::size_t first) {
            if (gathers) gather<Map>(part, v.data(), out.data() + first);
            else scatter<Map>(part, v.data(), out.data() + first);
        });
        return as_numpy(std::move(out));
    }

    std::tuple<Vector, Vector> bounded(const double* v, BoundedVector& out, bool gathers) const {
        multiply_parts(v, gathers, [&](const auto& part, std::size_t first) {
            if (gathers) gather_bounded(part, v, Bounded(out).from(first));
            else scatter_bounded(part, v, Bounded(out).from(first));
        });
        return {as_numpy(std::move(out.sum)), as_numpy(std::move(out.error))};
    }

    std::tuple<Vector, Vector, Vector> compensated(const CompensatedVector& v, CompensatedVector& out,
                                                   bool gathers) const {
        multiply_parts(v.high.data(), gathers, [&](const auto& part, std::size_t first) {
            if (gathers) gather_compensated(part, v, Doubled(out).from(first));
            else scatter_compensated(part, v, Doubled(out).from(first));
        });
        // The initial value of the sum and the sums of up to 8 lanes are terms too.
        const std::size_t n_terms = v.size.size() + std::min<std::size_t>(v.size.size(), 12);
        std::vector<double> error(out.size.size());
        for (std::size_t k = 0; k < error.size(); ++k) {
            const Rounded sum(Compensated{out.high[k], out.low[k], out.size[k]}, n_terms);
            out.high[k] = sum.high;
            out.low[k] = sum.low;
            error[k] = sum.error;
        }
        return {as_numpy(std::move(out.high)), as_numpy(std::move(out.low)), as_numpy(std::move(error))};
    }

    AnyLayout layout_;
    std::size_t n_rows_, n_columns_;
    std::size_t n_threads_;  // the number of threads for large products
    bool by_row_;
    std::vector<nb::object> owners_;
};

}  // namespace skpd
