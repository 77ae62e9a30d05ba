// Python bindings of what total variation penalties need.
#include "bind/arrays.hpp"
#include "maths/total_variation.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_total_variation(nb::module_& m) {
    m.def(
        "prox_total_variation",
        [](In y, double weight) { return as_numpy(prox_total_variation(y.data(), weight, y.shape(0))); }, "y"_a,
        "weight"_a, "argmin over x of ||x - y||^2 / 2 + weight sum_k |x_{k+1} - x_k|.");
    m.def(
        "total_variation_dual_norm",
        [](In v, double error) { return total_variation_dual_norm(v.data(), error, v.shape(0)); }, "v"_a, "error"_a,
        "sup of v.w over sum_k |w_{k+1} - w_k| <= 1 and sum_k w_k = 0; error bounds ||errors of v||_1.");
    m.def(
        "fused_dual_norm",
        [](In v, double error, double l1, double l2) { return fused_dual_norm(v.data(), error, v.shape(0), l1, l2); },
        "v"_a, "error"_a, "l1"_a, "l2"_a,
        "sup of v.w over l1 ||w||_1 + l2 sum_k |w_{k+1} - w_k| <= 1; error bounds ||errors of v||_1.");
}

}  // namespace skpd
