// Python binding of dual coordinate descent.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include "bind/losses.hpp"
#include "methods/class_iterate.hpp"
#include "methods/dual_descent.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

using Descent = std::unique_ptr<DualDescent>;

void require_rows(const Matrix& matrix) {
    require(matrix.by_row() && matrix.n_rows() < (std::size_t{1} << 32),
            "the matrix must be stored by rows, at most 2^32 of them");
}

Descent of_losses(const Matrix& matrix, AnyLoss any_loss, In y, In weights, In theta, double alpha, double constant,
                  double threshold, double offset, std::uint64_t seed) {
    require(have_length(matrix.n_rows(), y, weights, theta), "the vector does not fit the matrix");
    require_rows(matrix);
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto* loss, const auto& layout) -> Descent {
            DualIterate iterate(*loss, layout, y.data(), weights.data(), theta.data(), alpha, constant, threshold, offset);
            return std::make_unique<DualDescentOn<decltype(iterate)>>(std::move(iterate), seed);
        },
        any_loss, matrix.layout());
}

Descent of_classes(const Matrix& matrix, In y, In weights, In theta, double alpha, double constant, In offsets,
                   std::uint64_t seed) {
    const std::size_t n = matrix.n_rows();
    require(weights.shape(0) == n && n > 0, "the vector does not fit the matrix");
    const std::size_t n_classes = y.shape(0) / n;
    require(have_length(n * n_classes, y, theta) && n_classes > 0, "the table does not fit the matrix");
    require(have_length(n_classes, offsets), "there must be an offset for each class");
    require_rows(matrix);
    nb::gil_scoped_release release;
    return matrix.visit([&](const auto& layout) -> Descent {
        ClassIterate iterate(layout, y.data(), n_classes, weights.data(), theta.data(), alpha, constant, offsets.data());
        return std::make_unique<DualDescentOn<decltype(iterate)>>(std::move(iterate), seed);
    });
}

}  // namespace

void bind_dual_descent(nb::module_& m, nb::class_<Matrix>& matrix) {
    nb::class_<DualDescent>(m, "DualDescent", "A dual coordinate descent and its iterates.")
        .def(
            "run", &DualDescent::run, "target"_a, "max_epochs"_a, "max_visits"_a,
            nb::call_guard<nb::gil_scoped_release>(),
            "Epochs until the gap is at most the target, or so many epochs or visits of rows; their numbers and the "
            "gap, inf where it is not known to be below.")
        .def("recentre", &DualDescent::recentre,
             "Moves the offset to the intercept; returns sum_i c_i theta_i, or the sum of its size for all classes.")
        .def("refresh", &DualDescent::refresh, "Computes the primal point from theta.")
        .def("theta", [](const DualDescent& self) { return as_numpy(self.theta()); }, "The dual point.")
        .def("variables", [](const DualDescent& self) { return as_numpy(self.variables()); }, "The primal point v.");
    matrix
        .def("dual_descent", &of_losses, "loss"_a, "y"_a, "weights"_a, "theta"_a, "alpha"_a, "constant"_a,
             "threshold"_a, "offset"_a, "seed"_a, nb::keep_alive<0, 1>(),
             "Dual coordinate descent with a constant feature, from theta.")
        .def("class_descent", &of_classes, "y"_a, "weights"_a, "theta"_a, "alpha"_a, "constant"_a, "offsets"_a,
             "seed"_a, nb::keep_alive<0, 1>(),
             "Dual descent for the loss of Crammer and Singer with a constant feature, from theta; y and theta have a "
             "row of classes for each row.");
}

}  // namespace skpd
