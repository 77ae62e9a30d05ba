// The Python bindings of norms, inner products, equality and thresholds of vectors.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <optional>

#include "bind/arrays.hpp"
#include "data/compensated.hpp"
#include "data/dense_vectors.hpp"
#include "maths/norms.hpp"
#include "maths/box_hyperplane.hpp"

namespace skpd {
namespace {

// (sum_i a_i b_i c_i, a bound on its error) for vectors (n), in blocks whose products stay in the cache; c_i = 1 by
// default
std::pair<double, double> compensated_dot(In a, In b, std::optional<In> c) {
    require_length(a.shape(0), b, c.value_or(b));
    constexpr std::size_t block = 1024;
    const std::size_t n = a.shape(0);
    double high[block], low[block], ones[block];
    std::fill(ones, ones + (c ? 0 : block), 1.0);
    Compensated sum;
    std::size_t n_terms = n;
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t size = std::min(block, n - first);
        exact_products(a.data() + first, b.data() + first, high, low, size);
        sum.add(dense_dot_compensated(c ? c->data() + first : ones, high, low, size));
        n_terms += std::min<std::size_t>(size, 12) + 1;  // the sums of the lanes and of the blocks are terms too
    }
    const Rounded rounded(sum, n_terms);
    return {rounded.high, rounded.error + std::fabs(rounded.low)};
}

// The Euclidean norm of each group of x[order]; x (n), starts (n_groups + 1)
auto group_norms(In x, Indices order, Indices starts) {
    const std::size_t n_groups = std::max<std::size_t>(starts.shape(0), 1) - 1;
    require_starts(starts, n_groups, order.shape(0));
    require_within(order, x.shape(0), "order must hold indices of x");
    std::vector<double> out(n_groups), sorted(order.shape(0));
    for (std::size_t a = 0; a < sorted.size(); ++a) sorted[a] = x.data()[order.data()[a]];
    const std::int64_t* start = starts.data();
    for (std::size_t g = 0; g < n_groups; ++g)
        out[g] = euclidean_norm(sorted.data() + start[g], start[g + 1] - start[g]);
    return as_numpy(std::move(out));
}

// The dual norm of each group g for the norm l1_ratio ||.||_1 + (1 - l1_ratio) weights_g ||.||_2; x (n),
// starts (n_groups + 1), weights (n_groups)
auto sparse_group_dual_norms(In x, Indices starts, In weights, double l1_ratio) {
    const std::size_t n_groups = weights.shape(0);
    require_starts(starts, n_groups, x.shape(0));
    const std::int64_t* start = starts.data();
    return filled(n_groups, [&](double* out) {
        for (std::size_t g = 0; g < n_groups; ++g)
            out[g] = sparse_group_dual_norm(x.data() + start[g], start[g + 1] - start[g], l1_ratio, weights.data()[g]);
    });
}

}  // namespace

void bind_vectors(nb::module_& m) {
    // The threads of BLAS wait for each other on busy cores.
    m.def("dot", [](In a, In b) {
        require_length(a.shape(0), b);
        return dense_dot(a.data(), b.data(), a.shape(0));
    });
    m.def("compensated_dot", &compensated_dot, nb::arg(), nb::arg(), nb::arg() = nb::none());
    m.def("max_abs", [](In x) { return max_abs(x.data(), x.shape(0)); });
    m.def("sum_abs", [](In x) { return sum_abs(x.data(), x.shape(0)); });
    m.def("euclidean_norm", [](In x) { return euclidean_norm(x.data(), x.shape(0)); });
    m.def("group_norms", &group_norms);
    m.def("sparse_group_dual_norms", &sparse_group_dual_norms);
}

}  // namespace skpd
