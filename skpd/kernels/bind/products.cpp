// The Python bindings of special products: of dual points, of two factors, and an iteration of Pdprox as one pass over
// the rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>

#include "bind/matrix.hpp"
#include "data/dual_products.hpp"
#include "data/row_pass.hpp"
#include "data/products.hpp"

namespace skpd {
namespace {

double reflected_halpern_step(const Matrix& matrix, AnyLoss any_loss, In y, In weights, In step, In anchor,
                              double scale, double momentum, In coef, double intercept, Out theta, Out prox,
                              Out gradient) {
    require(have_length(matrix.n_rows(), y, weights, step, anchor, theta, prox) &&
                have_length(matrix.n_columns(), coef, gradient),
            "the vector does not fit the matrix");
    return with_loss(any_loss, [&]<class Loss>(const Loss& loss) {
        std::fill_n(gradient.data(), matrix.n_columns(), 0.0);
        const ReflectedHalpern<Loss> update{loss,  y.data(), weights.data(), step.data(), anchor.data(),
                                            scale, momentum, theta.data(),   prox.data()};
        return row_pass(MajorVectors(matrix.layout()), matrix.by_row(), matrix.n_rows(), coef.data(), intercept,
                        gradient.data(), update);
    });
}

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

void bind_products(nb::module_& m, nb::class_<Matrix>& matrix) {
    matrix.def("reflected_halpern_step", &reflected_halpern_step);
    m.def("sampled_products", &entries_of_product);
    nb::class_<DualProducts>(m, "DualProducts")
        .def("__init__", &start_products, nb::keep_alive<1, 2>())
        .def("take", &take_dual, nb::arg(), nb::arg(), nb::arg().none())
        .def("product", [](const DualProducts& self) { return as_numpy(self.product()); })
        .def("error", [](const DualProducts& self) { return as_numpy(self.error()); });
}

}  // namespace skpd
