// The Python bindings of special products: of dual points, and of two factors at some entries.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/matrix.hpp"
#include "data/dual_products.hpp"
#include "data/products.hpp"

namespace skpd {
namespace {

using Places = Array<const std::int32_t>;

void entries_of_product(InTable left, InTable right, Places rows, Places columns, Out out) {
    const std::size_t n = out.shape(0), rank = left.shape(1);
    require(right.shape(1) == rank && have_length(n, rows, columns), "factors and entries do not fit");
    require_within(rows, left.shape(0), "entries must lie in the matrix");
    require_within(columns, right.shape(0), "entries must lie in the matrix");
    nb::gil_scoped_release release;
    sampled_products(left.data(), right.data(), rank, rows.data(), columns.data(), n, out.data());
}

void start_products(DualProducts* self, const Matrix& matrix, In weights) {
    require(weights.shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
    require(!matrix.by_row(), "the matrix must be stored by columns");
    nb::gil_scoped_release release;
    new (self) DualProducts(matrix.layout(), matrix.n_rows(), matrix.n_columns(), weights.data());
}

bool take_dual(DualProducts& self, In theta, double threshold, std::optional<In> coef) {
    require(theta.shape(0) == self.n_rows() && (!coef || coef->shape(0) == self.n_columns()),
            "the vector does not fit the matrix");
    nb::gil_scoped_release release;
    return self.take(theta.data(), threshold, coef ? coef->data() : nullptr);
}

}  // namespace

void bind_products(nb::module_& m) {
    m.def("sampled_products", &entries_of_product);
    nb::class_<DualProducts>(m, "DualProducts")
        .def("__init__", &start_products, nb::keep_alive<1, 2>())
        .def("take", &take_dual, nb::arg(), nb::arg(), nb::arg().none())
        .def("product", [](const DualProducts& self) { return as_numpy(self.product()); })
        .def("error", [](const DualProducts& self) { return as_numpy(self.error()); });
}

}  // namespace skpd
