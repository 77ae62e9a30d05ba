// The Python bindings of the data matrix X (n, d): its layouts, products and Gram matrices.
#include <nanobind/stl/tuple.h>

#include "bind/matrix.hpp"

namespace skpd {
namespace {

template <class T>
void bind_layouts(nb::class_<Matrix>& matrix) {
    const auto exact = nb::arg().noconvert();
    const auto sparse = [&]<class I>(I) {
        matrix.def_static("sparse", &Matrix::sparse<T, I>, exact, exact, exact, nb::arg(), nb::arg(), nb::arg(),
                          nb::arg() = 1);
    };
    matrix.def_static("dense", &Matrix::dense<T>, exact, nb::arg() = false, nb::arg() = 1);
    sparse(std::int32_t{});
    sparse(std::int64_t{});
}

}  // namespace

nb::class_<Matrix> bind_matrix(nb::module_& m) {
    nb::class_<Matrix> matrix(m, "Matrix");
    bind_layouts<double>(matrix);
    bind_layouts<float>(matrix);
    return matrix.def_prop_ro("n_rows", &Matrix::n_rows)
        .def_prop_ro("n_columns", &Matrix::n_columns)
        .def_prop_ro("by_row", &Matrix::by_row)
        .def_prop_ro("n_entries", &Matrix::n_entries)
        .def("matvec", &Matrix::matvec<Identity>)
        .def("rmatvec", &Matrix::rmatvec<Identity>)
        .def("rmatvec_some", &Matrix::rmatvec_some)
        .def("matvec_absolute", &Matrix::matvec<Absolute>)
        .def("rmatvec_absolute", &Matrix::rmatvec<Absolute>)
        .def("matvec_square", &Matrix::matvec<Square>)
        .def("rmatvec_square", &Matrix::rmatvec<Square>)
        .def("matvec_compensated", &Matrix::matvec_compensated)
        .def("matvec_bounded", &Matrix::matvec_bounded)
        .def("rmatvec_bounded", &Matrix::rmatvec_bounded)
        .def("rmatvec_compensated", &Matrix::rmatvec_compensated)
        .def("gram", &Matrix::gram);
}

}  // namespace skpd
