// Python binding of dual coordinate descent.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>

#include "bind/losses.hpp"
#include "bind/matrix.hpp"
#include "methods/dual_descent.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

std::unique_ptr<DualDescent> make(const Matrix& matrix, AnyLoss any_loss, In y, In weights, In theta, double alpha,
                                  double constant, double threshold, double offset, std::uint64_t seed) {
    for (const auto* array : {&y, &weights, &theta})
        require(array->shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
    require(matrix.by_row() && matrix.n_rows() < (std::size_t{1} << 32),
            "the matrix must be stored by rows, at most 2^32 of them");
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto* loss, const auto& layout) -> std::unique_ptr<DualDescent> {
            using Loss = std::remove_cvref_t<decltype(*loss)>;
            using Layout = std::remove_cvref_t<decltype(layout)>;
            return std::make_unique<DualDescentOn<Loss, Layout>>(*loss, layout, y.data(), weights.data(),
                                                                 theta.data(), alpha, constant, threshold,
                                                                 offset, seed);
        },
        any_loss, matrix.layout());
}

}  // namespace

void bind_dual_descent(nb::module_& m, nb::class_<Matrix>& matrix) {
    nb::class_<DualDescent>(m, "DualDescent", "A dual coordinate descent and its iterates.")
        .def(
            "run", &DualDescent::run, "target"_a, "max_epochs"_a, "max_visits"_a,
            nb::call_guard<nb::gil_scoped_release>(),
            "Epochs until the gap is at most the target, or so many epochs or visits of rows; their numbers and the "
            "gap, inf where it is not known to be below.")
        .def("recentre", &DualDescent::recentre, "Moves the offset to the intercept; returns sum_i c_i theta_i.")
        .def("refresh", &DualDescent::refresh, "Computes the primal point from theta.")
        .def("theta", [](const DualDescent& self) { return as_numpy(self.theta()); }, "The dual point.")
        .def("variables", [](const DualDescent& self) { return as_numpy(self.variables()); }, "The primal point v.");
    matrix.def("dual_descent", &make, "loss"_a, "y"_a, "weights"_a, "theta"_a, "alpha"_a, "constant"_a, "threshold"_a,
               "offset"_a, "seed"_a, nb::keep_alive<0, 1>(),
               "Dual coordinate descent with a constant feature, from theta.");
}

}  // namespace skpd
