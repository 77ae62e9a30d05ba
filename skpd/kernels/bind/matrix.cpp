// The Python bindings of the data matrix X (n, d): its layouts, products and Gram matrices.
#include <nanobind/stl/tuple.h>

#include <cstdint>

#include "bind/matrix.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

template <class T>
void bind_dense(nb::class_<Matrix>& matrix) {
    matrix.def_static("dense", &Matrix::dense<T>, "table"_a.noconvert(), "by_columns"_a = false, "n_threads"_a = 1,
                      "Makes a dense matrix from a table that is contiguous along its rows or its columns.");
}

template <class T, class I>
void bind_sparse(nb::class_<Matrix>& matrix) {
    matrix.def_static("sparse", &Matrix::sparse<T, I>, "data"_a.noconvert(), "indices"_a.noconvert(),
                      "indptr"_a.noconvert(), "n_rows"_a, "n_columns"_a, "by_row"_a, "n_threads"_a = 1,
                      "Makes a sparse matrix from the arrays of its CSR (by_row) or CSC format.");
}

void bind_layouts(nb::class_<Matrix>& matrix) {
    bind_dense<double>(matrix);
    bind_dense<float>(matrix);
    bind_sparse<double, std::int32_t>(matrix);
    bind_sparse<float, std::int32_t>(matrix);
    bind_sparse<double, std::int64_t>(matrix);
    bind_sparse<float, std::int64_t>(matrix);
}

void bind_products(nb::class_<Matrix>& matrix) {
    matrix.def_prop_ro("n_rows", &Matrix::n_rows, "The number n of rows.")
        .def_prop_ro("n_columns", &Matrix::n_columns, "The number d of columns.")
        .def_prop_ro("by_row", &Matrix::by_row, "Whether the matrix is stored by rows.")
        .def_prop_ro("n_entries", &Matrix::n_entries, "The number of stored entries.")
        .def("matvec", &Matrix::matvec<Identity>, "coef"_a, "Returns X coef; coef (d).")
        .def("rmatvec", &Matrix::rmatvec<Identity>, "rows"_a, "Returns X' rows; rows (n).")
        .def("rmatvec_some", &Matrix::rmatvec_some, "rows"_a, "columns"_a,
             "Returns X_W' rows for the columns W of a matrix that is dense or stored by columns; rows (n).")
        .def("matvec_absolute", &Matrix::matvec<Absolute>, "coef"_a, "Returns |X| coef; coef (d).")
        .def("rmatvec_absolute", &Matrix::rmatvec<Absolute>, "rows"_a, "Returns |X|' rows; rows (n).")
        .def("matvec_square", &Matrix::matvec<Square>, "coef"_a, "Returns (X * X) coef; coef (d).")
        .def("rmatvec_square", &Matrix::rmatvec<Square>, "rows"_a, "Returns (X * X)' rows; rows (n).")
        .def("matvec_compensated", &Matrix::matvec_compensated, "coef"_a, "intercept"_a,
             "Returns X coef + intercept as an unevaluated sum high + low, and a bound on its error; coef (d).")
        .def("matvec_bounded", &Matrix::matvec_bounded, "coef"_a, "intercept"_a,
             "Returns X coef + intercept and a bound on its rounding error; coef (d).")
        .def("rmatvec_bounded", &Matrix::rmatvec_bounded, "weights"_a, "rows"_a,
             "Returns X' (weights * rows) and a bound on its rounding error; weights and rows (n).")
        .def("rmatvec_compensated", &Matrix::rmatvec_compensated, "weights"_a, "rows"_a,
             "Returns X' (weights * rows) as a sum high + low, and a bound on its error.");
}

void bind_grams(nb::class_<Matrix>& matrix) {
    matrix.def("gram", &Matrix::gram, "h"_a, "columns"_a, "ones"_a, "out"_a,
               "Writes out = X_W' diag(h) X_W over increasing columns W.");
}

}  // namespace

nb::class_<Matrix> bind_matrix(nb::module_& m) {
    nb::class_<Matrix> matrix(m, "Matrix", "A dense or sparse matrix X (n, d), whose arrays are borrowed.");
    bind_layouts(matrix);
    bind_products(matrix);
    bind_grams(matrix);
    return matrix;
}

}  // namespace skpd
