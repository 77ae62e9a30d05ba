// The Python bindings of the losses of quantiles in order (maths/ordered_pinballs.hpp has the formulas).
#include "maths/ordered_pinballs.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// Returns the number of rows of vectors with an entry for each quantile.
template <class... Vectors>
std::size_t rows_of(const OrderedPinballs& losses, const In& y, const Vectors&... vectors) {
    require(y.shape(0) % losses.n_outputs() == 0 && have_length(y.shape(0), vectors...),
            "vectors must have an entry for each quantile of each row");
    return y.shape(0) / losses.n_outputs();
}

}  // namespace

void bind_ordered_pinballs(nb::module_& m) {
    nb::class_<OrderedPinballs> pinballs(m, "OrderedPinballs", "The pinball losses of quantiles (K) in order.");
    pinballs.def("__init__", [](OrderedPinballs* self, std::vector<double> quantiles) {
        require(!quantiles.empty(), "there must be a quantile");
        new (self) OrderedPinballs(std::move(quantiles));
    }, "quantiles"_a);
    pinballs.def(
        "nearest",
        [](const OrderedPinballs& self, In t) {
            const std::size_t n = rows_of(self, t), K = self.n_outputs();
            return filled(n * K, [&](double* out) {
                auto scratch = self.scratch();
                for (std::size_t i = 0; i < n; ++i) self.nearest(t.data() + i * K, out + i * K, scratch);
            });
        },
        "t"_a, "Returns the nearest non-decreasing rows to those of t (n K).");
    pinballs.def(
        "derivatives",
        [](const OrderedPinballs& self, In y, In theta, In z, double sigma) {
            const std::size_t n = rows_of(self, y, theta, z), K = self.n_outputs();
            std::vector<double> gradient(n * K), d(n * K), e(n * K);
            without_lock([&] {
                auto scratch = self.scratch();
                for (std::size_t a = 0; a < n * K; a += K)
                    self.derivatives(y.data() + a, theta.data() + a, z.data() + a, sigma, gradient.data() + a,
                                     d.data() + a, e.data() + a, scratch);
            });
            return std::make_tuple(as_numpy(std::move(gradient)), as_numpy(std::move(d)), as_numpy(std::move(e)));
        },
        "y"_a, "theta"_a, "z"_a, "sigma"_a,
        "Returns the gradient of the envelope, and d and e of its Hessian diag(d) - e e' over sigma, all (n K).");
    pinballs.def(
        "smoothed_derivatives",
        [](const OrderedPinballs& self, In y, In weights, In theta, In z, double sigma, Out derivative, Out gradient,
           Out curvature, Out factor) {
            const std::size_t n = rows_of(self, y, weights, theta, z, derivative, gradient, curvature, factor);
            std::vector<double> overlaps(self.n_outputs() - 1);
            const auto [primal, dual] = without_lock([&] {
                return self.smoothed_derivatives(n, y.data(), weights.data(), theta.data(), z.data(), sigma,
                                                 derivative.data(), gradient.data(), curvature.data(), factor.data(),
                                                 overlaps.data());
            });
            return std::make_tuple(primal, dual, as_numpy(std::move(overlaps)));
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "gradient"_a, "curvature"_a, "factor"_a,
        "Writes the derivatives of the envelope, all (n K); returns the primal and dual sums, and by how much each\n"
        "prediction except the last exceeds the next at most (K - 1).");
    pinballs.def(
        "smoothed_slope",
        [](const OrderedPinballs& self, In y, In weights, In theta, In z, In direction, double step, double sigma) {
            const std::size_t n = rows_of(self, y, weights, theta, z, direction);
            nb::gil_scoped_release release;
            return self.smoothed_slope(n, y.data(), weights.data(), theta.data(), z.data(), direction.data(), step,
                                       sigma);
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "direction"_a, "step"_a, "sigma"_a,
        "Returns the slope of the weighted sum of envelopes along a direction, at a step; vectors (n K).");
    pinballs.def(
        "entries_that_bend",
        [](const OrderedPinballs& self, In y, In theta, In z, double sigma, double radius) {
            const std::size_t n = rows_of(self, y, theta, z), K = self.n_outputs();
            std::vector<std::int64_t> out;
            without_lock([&] {
                auto scratch = self.scratch();
                for (std::size_t a = 0; a < n * K; a += K)
                    self.entries_that_bend(
                        y.data() + a, theta.data() + a, z.data() + a, sigma, radius,
                        [&](std::size_t k) { out.push_back(static_cast<std::int64_t>(a + k)); }, scratch);
            });
            return as_numpy(std::move(out));
        },
        "y"_a, "theta"_a, "z"_a, "sigma"_a, "radius"_a,
        "Returns the entries whose levels bend, or may do so after a change of z of this radius.");
}

}  // namespace skpd
