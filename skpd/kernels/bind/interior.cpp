// The Python bindings of the terms of an interior-point method (methods/interior_interval_terms.hpp has the formulas).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bind/matrix.hpp"
#include "methods/interior_interval_terms.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_interior(nb::module_& m) {
    nb::class_<IntervalStep>(m, "IntervalStep",
        "Holds a direction of the arguments, slacks and multipliers of `IntervalTerms`.");
    nb::class_<IntervalTerms>(
        m, "IntervalTerms",
        "The terms of an interior-point method at an iterate (s, u, slacks).")
        .def(
            "__init__",
            [](IntervalTerms* self, In s, In sign, In weights, In lower, std::optional<In> upper, In width, In slope,
               double q, double share) {
                const std::size_t size = s.shape(0);
                require(have_length(size, sign, weights, lower, width, slope, upper.value_or(s)),
                        "the vectors do not have the same length");
                const IntervalRows rows{s.data(), sign.data(), weights.data(), lower.data(),
                                         upper ? upper->data() : nullptr, width.data(), slope.data()};
                new (self) IntervalTerms(size, rows, q, share);
            },
            "s"_a, "sign"_a, "weights"_a, "lower"_a, "upper"_a.none(), "width"_a, "slope"_a, "q"_a, "share"_a,
            "Starts at s, with slacks of at least width.")
        .def("multipliers", [](const IntervalTerms& self) { return as_numpy(self.multipliers()); },
             "Returns sign * u (n), the derivatives of the terms in the image.")
        .def("gradient", [](const IntervalTerms& self) { return as_numpy(self.gradient()); },
            "Returns sign * weights * u (n), the derivatives of the weighted terms in the image.")
        .def("products", &IntervalTerms::products,
            "Returns sum_k c_k sum over the bounds of slack_k distance_k, with the distance of u from a bound.")
        .def("products_after", &IntervalTerms::products_after, "step"_a, "primal"_a, "dual"_a,
             "Returns `products` after a step of length primal in the slacks and of length dual in the multipliers.")
        .def("factorise", [](IntervalTerms& self) { return as_numpy(self.factorise()); },
             "Returns the curvature (n) in the image without slacks and multipliers.")
        .def(
            "shift",
            [](IntervalTerms& self, std::optional<double> mu, const IntervalStep* affine) {
                return as_numpy(self.shift(mu, affine));
            },
            "mu"_a.none(), "affine"_a.none(),
            "Returns the change (n) of the gradient for a fixed image.")
        .def(
            "direction",
            [](const IntervalTerms& self, In image) {
                require(image.shape(0) == self.size(), "the vector does not fit the terms");
                return self.direction(image.data());
            },
            "image"_a,
            "Returns the direction of arguments, slacks and multipliers that goes with a direction (n) of the image.")
        .def("largest_steps", &IntervalTerms::largest_steps, "step"_a,
             "Returns the largest lengths (primal, dual) for which no slack and no distance becomes negative.")
        .def("move", &IntervalTerms::move, "step"_a, "primal"_a, "dual"_a,
             "Takes a step of length primal in the slacks and of length dual in the multipliers.")
        .def("towards_kinks", [](const IntervalTerms& self, const IntervalStep& step) {
                return as_numpy(self.towards_kinks(step));
             }, "step"_a,
             "Returns whether, for all bounds of a term (n), d slack / slack < d distance / distance along the step.");
}

}  // namespace skpd
