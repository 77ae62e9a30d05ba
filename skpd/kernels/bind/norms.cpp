// Python bindings of the norms of vectors and of groups of their entries.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "maths/norms.hpp"
#include "maths/projections.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_norms(nb::module_& m) {
    m.def("max_abs", [](In x) { return max_abs(x.data(), x.shape(0)); }, "x"_a, "max_j |x_j|, 0 of no numbers.");
    m.def("sum_abs", [](In x) { return sum_abs(x.data(), x.shape(0)); }, "x"_a, "sum_j |x_j|.");
    m.def("euclidean_norm", [](In x) { return euclidean_norm(x.data(), x.shape(0)); }, "x"_a,
          "||x||_2, without under- or overflow on the way.");
    m.def(
        "group_norms",
        [](In x, Array<const std::int64_t> order, Array<const std::int64_t> starts) {
            require(starts.shape(0) > 0, "starts must hold one entry more than there are groups");
            const std::size_t size = order.shape(0);
            std::vector<double> out(starts.shape(0) - 1), group(size);
            for (std::size_t a = 0; a < size; ++a) {
                const std::int64_t j = order.data()[a];
                require(j >= 0 && j < static_cast<std::int64_t>(x.shape(0)), "order must hold places in x");
                group[a] = x.data()[j];
            }
            for (std::size_t g = 0; g < out.size(); ++g) {
                const auto first = static_cast<std::size_t>(starts.data()[g]);
                const auto last = static_cast<std::size_t>(starts.data()[g + 1]);
                require(first <= last && last <= size, "starts must increase up to the length of order");
                out[g] = euclidean_norm(group.data() + first, last - first);
            }
            return as_numpy(std::move(out));
        },
        "x"_a, "order"_a, "starts"_a, "The Euclidean norm of each group of the entries of x in this order.");
    m.def(
        "sparse_group_dual_norms",
        [](In x, Array<const std::int64_t> starts, In weights, double l1_ratio) {
            const std::size_t n_groups = weights.shape(0);
            require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
            std::vector<double> out(n_groups);
            for (std::size_t g = 0; g < n_groups; ++g) {
                const auto first = static_cast<std::size_t>(starts.data()[g]);
                const auto last = static_cast<std::size_t>(starts.data()[g + 1]);
                require(first <= last && last <= x.shape(0), "starts must increase up to the length of x");
                out[g] = sparse_group_dual_norm(x.data() + first, last - first, l1_ratio, weights.data()[g]);
            }
            return as_numpy(std::move(out));
        },
        "x"_a, "starts"_a, "weights"_a, "l1_ratio"_a,
        "For each group, the dual norm of l1_ratio ||.||_1 + (1 - l1_ratio) weight ||.||_2.");
}

}  // namespace skpd
