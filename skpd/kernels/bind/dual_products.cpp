// Python binding of the products of one dual point after another.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/matrix.hpp"
#include "data/dual_products.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_dual_products(nb::module_& m) {
    nb::class_<DualProducts>(m, "DualProducts", "X' diag(weights) theta of one theta after another.")
        .def(
            "__init__",
            [](DualProducts* self, const Matrix& matrix, In weights) {
                require(weights.shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
                require(!matrix.by_row(), "the matrix must be stored by columns");
                nb::gil_scoped_release release;
                new (self) DualProducts(matrix.layout(), matrix.n_rows(), matrix.n_columns(), weights.data());
            },
            "matrix"_a, "weights"_a, nb::keep_alive<1, 2>())
        .def(
            "take",
            [](DualProducts& self, In theta, double enough, std::optional<In> coef) {
                require(theta.shape(0) == self.n_rows() && (!coef || coef->shape(0) == self.n_columns()),
                        "the vector does not fit the matrix");
                nb::gil_scoped_release release;
                return self.take(theta.data(), enough, coef ? coef->data() : nullptr);
            },
            "theta"_a, "enough"_a, "coef"_a.none(),
            "Goes on to theta. Entries that are at most `enough`, their error included, need not be any more exact "
            "where coef is 0 or not given. Returns whether anything has changed.")
        .def("product", [](const DualProducts& self) { return as_numpy(self.product()); })
        .def("error", [](const DualProducts& self) { return as_numpy(self.error()); }, "Bounds on the errors.");
}

}  // namespace skpd
