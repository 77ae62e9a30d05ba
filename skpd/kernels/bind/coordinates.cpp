// Python bindings of the random coordinate methods.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include "bind/losses.hpp"
#include "methods/random_coordinates.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

using SmoothLoss = std::variant<const HingeLoss*, const LogisticLoss*, const ResidualLoss*>;

template <template <class, class> class Method>
std::unique_ptr<RandomCoordinates> make(const Matrix& transpose, SmoothLoss any_loss, double smoothness, In y, In weights,
                                        const SeparableCoordinates& terms, double alpha, bool ones, In w, std::uint64_t seed) {
    const std::size_t n_features = transpose.n_rows(), n_samples = transpose.n_columns();
    require(transpose.by_row(), "the transpose must be stored by rows");
    require(have_length(n_samples, y, weights) && w.shape(0) == n_features + ones,
            "the vector does not fit the matrix");
    require(terms.n_penalised() == n_features, "as many terms as features");
    require(seed != 0 && n_features < (std::size_t{1} << 32) - 1,
            "the seed must not be 0, and features at most 2^32 - 2");
    const CoordinateProblem problem{{y.data(), y.data() + n_samples},
                                    {weights.data(), weights.data() + n_samples},
                                    terms,
                                    alpha,
                                    smoothness,
                                    ones};
    return method_of<RandomCoordinates, Method>(any_loss, transpose, problem, w.data(), seed);
}

}  // namespace

void bind_coordinates(nb::module_& m) {
    nb::class_<RandomCoordinates>(m, "RandomCoordinates", "A random coordinate method and its iterates.")
        .def("run", &RandomCoordinates::run, "steps"_a, nb::call_guard<nb::gil_scoped_release>(),
             "So many steps, each along a column drawn at random.")
        .def_prop_ro("n_coordinates", &RandomCoordinates::n_coordinates)
        .def("refresh", &RandomCoordinates::refresh, nb::call_guard<nb::gil_scoped_release>(),
             "Computes predictions from the variables.")
        .def("variables", [](const RandomCoordinates& self) { return as_numpy(self.variables()); },
             "The coefficients and, if free, the intercept.")
        .def("sums", [](const RandomCoordinates& self) { return as_numpy(self.sums()); },
             "The sums of the variables over all steps.");
    m.def("random_coordinate_descent", &make<CoordinateDescentOn>, "transpose"_a, "loss"_a, "smoothness"_a, "y"_a,
          "weights"_a, "terms"_a, "alpha"_a, "ones"_a, "w"_a, "seed"_a, nb::keep_alive<0, 1>(),
          "Random coordinate descent from w, on a matrix given by its transpose.");
    m.def("approx", &make<ApproxOn>, "transpose"_a, "loss"_a, "smoothness"_a, "y"_a, "weights"_a, "terms"_a,
          "alpha"_a, "ones"_a, "w"_a, "seed"_a, nb::keep_alive<0, 1>(),
          "Accelerated random coordinate descent from w, on a matrix given by its transpose.");
}

}  // namespace skpd
