// Python binding of dual descent for the loss of Crammer and Singer.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>

#include "bind/matrix.hpp"
#include "methods/class_descent.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

std::unique_ptr<ClassDescent> make(const Matrix& matrix, In y, In weights, In theta, double alpha,
                                   std::uint64_t seed) {
    const std::size_t n = matrix.n_rows();
    require(weights.shape(0) == n && n > 0, "the vector does not fit the matrix");
    const std::size_t n_classes = y.shape(0) / n;
    for (const auto* array : {&y, &theta})
        require(array->shape(0) == n * n_classes && n_classes > 0, "the table does not fit the matrix");
    require(matrix.by_row() && n < (std::size_t{1} << 32), "the matrix must be stored by rows, at most 2^32 of them");
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto& layout) -> std::unique_ptr<ClassDescent> {
            using Layout = std::remove_cvref_t<decltype(layout)>;
            return std::make_unique<ClassDescentOn<Layout>>(layout, y.data(), n_classes, weights.data(),
                                                            theta.data(), alpha, seed);
        },
        matrix.layout());
}

}  // namespace

void bind_class_descent(nb::module_& m, nb::class_<Matrix>& matrix) {
    nb::class_<ClassDescent>(m, "ClassDescent", "Dual descent for the loss of Crammer and Singer, and its iterate.")
        .def(
            "run", &ClassDescent::run, "target"_a, "max_epochs"_a, "max_visits"_a,
            nb::call_guard<nb::gil_scoped_release>(),
            "Epochs until the gap is at most the target, or so many epochs or visits of rows; their numbers and the "
            "gap, inf where it is not known to be below.")
        .def("refresh", &ClassDescent::refresh, "Computes the primal point from theta.")
        .def("theta", [](const ClassDescent& self) { return as_numpy(self.theta()); }, "The dual point.");
    matrix.def("class_descent", &make, "y"_a, "weights"_a, "theta"_a, "alpha"_a, "seed"_a, nb::keep_alive<0, 1>(),
               "Dual descent for the loss of Crammer and Singer, from theta; y and theta have a row of classes for "
               "each row.");
}

}  // namespace skpd
