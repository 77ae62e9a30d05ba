// Python bindings of the softmax loss.
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <utility>

#include "bind/arrays.hpp"
#include "maths/softmax.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_softmax(nb::module_& m) {
    m.def(
        "softmax_derivatives",
        [](In y, In weights, In z, std::size_t n_outputs, Out derivative, Out gradient, Out curvature, Out factor) {
            const std::size_t size = z.shape(0);
            require(n_outputs > 0 && size % n_outputs == 0, "z must have a number for each output of each row");
            for (const std::size_t other : {y.shape(0), weights.shape(0), derivative.shape(0), gradient.shape(0),
                                            curvature.shape(0), factor.shape(0)})
                require(other == size, "y, weights, z and the outputs differ in length");
            nb::gil_scoped_release release;
            const SoftmaxSums sums =
                softmax_derivatives(size / n_outputs, n_outputs, y.data(), weights.data(), z.data(), derivative.data(),
                                    gradient.data(), curvature.data(), factor.data());
            return std::make_pair(sums.primal, sums.dual);
        },
        "y"_a, "weights"_a, "z"_a, "n_outputs"_a, "derivative"_a, "gradient"_a, "curvature"_a, "factor"_a,
        "Derivatives of the softmax loss in z: writes the first, the first times the weights, and of the second "
        "times the weights, diag(d) - e e', d and e; returns the weighted sum of the losses at z and of minus their "
        "conjugates at the first derivative.");
}

}  // namespace skpd
