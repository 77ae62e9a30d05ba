// The Python bindings of the terms of an interior-point method (methods/interior_interval_terms.hpp has the formulas).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bind/matrix.hpp"
#include "methods/interior_interval_terms.hpp"

namespace skpd {
namespace {

void start(IntervalTerms* self, In s, In sign, In weights, In lower, std::optional<In> upper, In width, In slope,
           double q, double share) {
    const std::size_t size = s.shape(0);
    require_length(size, sign, weights, lower, width, slope, upper.value_or(s));
    const IntervalRows rows{s.data(), sign.data(), weights.data(), lower.data(),
                            upper ? upper->data() : nullptr, width.data(), slope.data()};
    new (self) IntervalTerms(size, rows, q, share);
}

}  // namespace

void bind_interior(nb::module_& m) {
    nb::class_<IntervalStep>(m, "IntervalStep");
    nb::class_<IntervalTerms>(m, "IntervalTerms")
        .def("__init__", &start, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg())
        .def("multipliers", [](const IntervalTerms& self) { return as_numpy(self.multipliers()); })
        .def("gradient", [](const IntervalTerms& self) { return as_numpy(self.gradient()); })
        .def("products", &IntervalTerms::products)
        .def("products_after", &IntervalTerms::products_after)
        .def("factorise", [](IntervalTerms& self) { return as_numpy(self.factorise()); })
        .def("shift", [](IntervalTerms& self, std::optional<double> mu, const IntervalStep* affine) {
            return as_numpy(self.shift(mu, affine));
        }, nb::arg().none(), nb::arg().none())
        .def("direction", [](const IntervalTerms& self, In image) {
            require(image.shape(0) == self.size(), "the vector does not fit the terms");
            return self.direction(image.data());
        })
        .def("largest_steps", &IntervalTerms::largest_steps)
        .def("move", &IntervalTerms::move)
        .def("towards_kinks", [](const IntervalTerms& self, const IntervalStep& step) {
            return as_numpy(self.towards_kinks(step));
        });
}

}  // namespace skpd
