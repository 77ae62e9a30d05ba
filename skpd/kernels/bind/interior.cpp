// Python bindings of the terms of an interior-point method.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bind/matrix.hpp"
#include "methods/interval_terms.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_interior(nb::module_& m) {
    nb::class_<IntervalStep>(m, "IntervalStep", "A direction of the slacks and multipliers of `IntervalTerms`.");
    nb::class_<IntervalTerms>(
        m, "IntervalTerms",
        "sum_k c_k max over lower_k <= u <= upper_k of u s_k - q u^2 / 2 between two iterations.")
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
            "s"_a, "sign"_a, "weights"_a, "lower"_a, "upper"_a.none(), "width"_a, "slope"_a, "q"_a, "share"_a)
        .def("multipliers", [](const IntervalTerms& self) { return as_numpy(self.multipliers()); },
             "The derivatives of the terms in their image.")
        .def("gradient", [](const IntervalTerms& self) { return as_numpy(self.gradient()); }, "The same with weights.")
        .def("products", &IntervalTerms::products, "The sum of the products of slacks and multipliers.")
        .def("products_after", &IntervalTerms::products_after, "step"_a, "primal"_a, "dual"_a)
        .def("factorise", [](IntervalTerms& self) { return as_numpy(self.factorise()); },
             "The curvature in the image, slacks and multipliers eliminated.")
        .def(
            "shift",
            [](IntervalTerms& self, std::optional<double> mu, const IntervalStep* affine) {
                return as_numpy(self.shift(mu, affine));
            },
            "mu"_a.none(), "affine"_a.none(),
            "What the gradient changes by for products equal to share * mu, or as they are, the image fixed.")
        .def(
            "direction",
            [](const IntervalTerms& self, In image) {
                require(image.shape(0) == self.size(), "the vector does not fit the terms");
                return self.direction(image.data());
            },
            "image"_a, "The direction that goes with one of the image.")
        .def("largest_steps", &IntervalTerms::largest_steps, "step"_a)
        .def("move", &IntervalTerms::move, "step"_a, "primal"_a, "dual"_a)
        .def("towards_kinks", [](const IntervalTerms& self, const IntervalStep& step) {
                return as_numpy(self.towards_kinks(step));
             }, "step"_a, "The terms whose slacks all fall, beside what they are, faster than their multipliers.");
}

}  // namespace skpd
