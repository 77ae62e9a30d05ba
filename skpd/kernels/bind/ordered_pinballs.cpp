// The Python bindings of the losses of quantiles in order (maths/ordered_pinballs.hpp has the formulas).
#include "maths/ordered_pinballs.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind/arrays.hpp"

namespace skpd {
namespace {

// Returns the number of rows of vectors with an entry for each quantile.
template <class... Vectors>
std::size_t rows_of(const OrderedPinballs& losses, const In& y, const Vectors&... vectors) {
    require(y.shape(0) % losses.n_outputs() == 0 && have_length(y.shape(0), vectors...),
            "vectors must have an entry for each quantile of each row");
    return y.shape(0) / losses.n_outputs();
}

// Calls work(a, scratch) for the first entry a of each of n rows, while other threads may call Python.
template <class Work>
void for_rows(const OrderedPinballs& losses, std::size_t n, Work work) {
    nb::gil_scoped_release release;
    auto scratch = losses.scratch();
    for (std::size_t i = 0; i < n; ++i) work(i * losses.n_outputs(), scratch);
}

auto nearest(const OrderedPinballs& self, In t) {
    std::vector<double> out(t.shape(0));
    for_rows(self, rows_of(self, t), [&](std::size_t a, auto& scratch) {
        self.nearest(t.data() + a, out.data() + a, scratch);
    });
    return as_numpy(std::move(out));
}

// The gradient of the envelope, and d and e of its Hessian diag(d) - e e' over sigma, all (n K)
auto derivatives(const OrderedPinballs& self, In y, In theta, In z, double sigma) {
    std::vector<double> gradient(y.shape(0)), d(y.shape(0)), e(y.shape(0));
    for_rows(self, rows_of(self, y, theta, z), [&](std::size_t a, auto& scratch) {
        self.derivatives(y.data() + a, theta.data() + a, z.data() + a, sigma, gradient.data() + a, d.data() + a,
                         e.data() + a, scratch);
    });
    return std::make_tuple(as_numpy(std::move(gradient)), as_numpy(std::move(d)), as_numpy(std::move(e)));
}

auto derivatives_of_smoothed(const OrderedPinballs& self, In y, In weights, In theta, In z, double sigma,
                             Out derivative, Out gradient, Out curvature, Out factor) {
    const std::size_t n = rows_of(self, y, weights, theta, z, derivative, gradient, curvature, factor);
    std::vector<double> overlaps(self.n_outputs() - 1);
    const auto [primal, dual] = without_lock([&] {
        return self.smoothed_derivatives(n, y.data(), weights.data(), theta.data(), z.data(), sigma, derivative.data(),
                                         gradient.data(), curvature.data(), factor.data(), overlaps.data());
    });
    return std::make_tuple(primal, dual, as_numpy(std::move(overlaps)));
}

double slope_of_smoothed(const OrderedPinballs& self, In y, In weights, In theta, In z, In direction, double step,
                         double sigma) {
    const std::size_t n = rows_of(self, y, weights, theta, z, direction);
    nb::gil_scoped_release release;
    return self.smoothed_slope(n, y.data(), weights.data(), theta.data(), z.data(), direction.data(), step, sigma);
}

auto bending_entries(const OrderedPinballs& self, In y, In theta, In z, double sigma, double radius) {
    std::vector<std::int64_t> out;
    for_rows(self, rows_of(self, y, theta, z), [&](std::size_t a, auto& scratch) {
        const auto take = [&](std::size_t k) { out.push_back(static_cast<std::int64_t>(a + k)); };
        self.entries_that_bend(y.data() + a, theta.data() + a, z.data() + a, sigma, radius, take, scratch);
    });
    return as_numpy(std::move(out));
}

}  // namespace

void bind_ordered_pinballs(nb::module_& m) {
    nb::class_<OrderedPinballs>(m, "OrderedPinballs")
        .def("__init__", [](OrderedPinballs* self, std::vector<double> quantiles) {
            require(!quantiles.empty(), "there must be a quantile");
            new (self) OrderedPinballs(std::move(quantiles));
        })
        .def("nearest", &nearest)
        .def("derivatives", &derivatives)
        .def("smoothed_derivatives", &derivatives_of_smoothed)
        .def("smoothed_slope", &slope_of_smoothed)
        .def("entries_that_bend", &bending_entries);
}

}  // namespace skpd
