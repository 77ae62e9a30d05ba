// The Python bindings of coordinate descents: dual, of pairs of rows of a kernel matrix, and random ones
// (methods/dual_descent.hpp, methods/pair_descent.hpp and published/random_coordinates.hpp have the problems).
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <variant>

#include "bind/matrix.hpp"
#include "methods/class_iterate.hpp"
#include "methods/dual_descent.hpp"
#include "methods/pair_descent.hpp"
#include "published/random_coordinates.hpp"

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
    return with_loss(any_loss, [&](const auto& loss) -> Descent {
        DualIterate iterate(loss, matrix.layout(), y.data(), weights.data(), theta.data(), alpha, constant, threshold,
                            offset);
        return std::make_unique<DualDescentOn<decltype(iterate)>>(std::move(iterate), seed);
    });
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
    ClassIterate iterate(matrix.layout(), y.data(), n_classes, weights.data(), theta.data(), alpha, constant,
                         offsets.data());
    return std::make_unique<DualDescentOn<ClassIterate>>(std::move(iterate), seed);
}

PairDescent of_kernel(PieceLoss loss, In diagonal, In y, In weights, double alpha, bool has_intercept) {
    const std::size_t n = diagonal.shape(0);
    require(n > 0 && have_length(n, y, weights), "y and weights must have a number for each row of K");
    return {loss, diagonal.data(), n, y.data(), weights.data(), alpha, has_intercept};
}

void add_kernel_rows(PairDescent& self, Indices rows, InTable values) {
    require(have_shape(rows.shape(0), self.n_rows(), values), "values must have a row for each index, as long as K");
    require_within(rows, self.n_rows(), "rows must be those of K");
    self.add_rows(rows.data(), rows.shape(0), values.data());
}

using SmoothLoss = std::variant<const HingeLoss*, const LogisticLoss*, const ResidualLoss*>;

void require_coordinates(std::size_t n_coordinates, std::uint64_t seed) {
    require(seed != 0 && n_coordinates < (std::size_t{1} << 32) - 1,
            "the seed must not be 0, and coordinates at most 2^32 - 2");
}

template <template <class, class> class Method>
std::unique_ptr<RandomCoordinates> of_columns(const Matrix& transpose, SmoothLoss any_loss, double smoothness, In y,
                                              In weights, const SeparableCoordinates& terms, double alpha, bool ones,
                                              In w, std::uint64_t seed, std::size_t per_step) {
    const std::size_t n_features = transpose.n_rows();
    require(transpose.by_row(), "the transpose must be stored by rows");
    require(have_length(transpose.n_columns(), y, weights) && w.shape(0) == n_features + ones,
            "the vector does not fit the matrix");
    require(terms.n_penalised() == n_features, "as many terms as features");
    require_coordinates(n_features, seed);
    const CoordinateProblem<SeparableCoordinates> problem{copied(y), copied(weights), terms, alpha, smoothness, ones,
                                                          per_step};
    return with_loss(any_loss, [&]<class Loss>(const Loss& loss) -> std::unique_ptr<RandomCoordinates> {
        return std::make_unique<Method<Loss, SeparableCoordinates>>(loss, transpose.layout(), problem, w.data(), seed);
    });
}

template <template <class, class> class Method>
std::unique_ptr<RandomCoordinates> of_rows(const Matrix& matrix, AnyLoss loss, In y, In weights,
                                           const ResidualLoss& conjugate, double ridge, In v, std::uint64_t seed,
                                           std::size_t per_step) {
    require(have_length(matrix.n_rows(), y, weights, v), "the vector does not fit the matrix");
    require_rows(matrix);
    require_coordinates(matrix.n_rows(), seed);
    nb::gil_scoped_release release;
    const std::size_t d = matrix.n_columns();
    using Terms = std::vector<ConjugateTerm>;
    Terms terms;
    for (std::size_t i = 0; i < y.shape(0); ++i) terms.push_back({loss, y.data()[i], weights.data()[i]});
    const CoordinateProblem<Terms> problem{std::vector<double>(d, 0.0), std::vector<double>(d, 1.0 / ridge), terms, 1.0,
                                           1.0, false, per_step};
    return std::make_unique<Method<ResidualLoss, Terms>>(conjugate, matrix.layout(), problem, v.data(), seed);
}

// Binds a method on the columns of X (n, d), given by its transpose stored by rows, that starts at w (d), and the same
// on the rows of X, for the dual, that starts at v = weights * theta (n); y and weights (n). The conjugate of the
// penalty at -X' v is the sum of `conjugate` over the entries of X' v, divided by `ridge`.
template <template <class, class> class Method>
void bind_coordinate_method(nb::module_& m, const char* on_columns, const char* on_rows) {
    m.def(on_columns, &of_columns<Method>, nb::keep_alive<0, 1>());
    m.def(on_rows, &of_rows<Method>, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
}

}  // namespace

void bind_coordinates(nb::module_& m, nb::class_<Matrix>& matrix) {
    nb::class_<DualDescent>(m, "DualDescent")
        .def("run", &DualDescent::run, nb::call_guard<nb::gil_scoped_release>())
        .def("recentre", &DualDescent::recentre)
        .def("refresh", &DualDescent::refresh)
        .def("theta", [](const DualDescent& self) { return as_numpy(self.theta()); })
        .def("variables", [](const DualDescent& self) { return as_numpy(self.variables()); });
    matrix.def("dual_descent", &of_losses, nb::keep_alive<0, 1>())
        .def("class_descent", &of_classes, nb::keep_alive<0, 1>());
    nb::class_<PairDescent>(m, "PairDescent")
        .def("run", &PairDescent::run, nb::call_guard<nb::gil_scoped_release>())
        .def("missing_rows", [](const PairDescent& self, std::size_t n) { return as_numpy(self.missing_rows(n)); })
        .def("add_rows", &add_kernel_rows, nb::keep_alive<1, 3>())
        .def("refresh", &PairDescent::refresh, nb::call_guard<nb::gil_scoped_release>())
        .def("theta", [](const PairDescent& self) { return as_numpy(self.theta()); })
        .def("intercept", &PairDescent::intercept);
    m.def("pair_descent", &of_kernel, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
          nb::keep_alive<0, 4>());
    nb::class_<RandomCoordinates>(m, "RandomCoordinates")
        .def("run", &RandomCoordinates::run, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("n_coordinates", &RandomCoordinates::n_coordinates)
        .def("refresh", &RandomCoordinates::refresh, nb::call_guard<nb::gil_scoped_release>())
        .def("variables", [](const RandomCoordinates& self) { return as_numpy(self.variables()); })
        .def("sums", [](const RandomCoordinates& self) { return as_numpy(self.sums()); });
    bind_coordinate_method<CoordinateDescentOn>(m, "random_coordinate_descent", "row_coordinate_descent");
    bind_coordinate_method<ApproxOn>(m, "approx", "row_approx");
}

}  // namespace skpd
