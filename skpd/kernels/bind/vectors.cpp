// Python bindings of what is asked of vectors: norms, inner products, equality, entries above a threshold; and of the
// allocator.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "data/compensated.hpp"
#include "data/dense_vectors.hpp"
#include "maths/norms.hpp"
#include "maths/projections.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// (sum_i a_i b_i c_i, a bound on its error), in blocks whose products stay in the cache
std::pair<double, double> compensated_dot(In a, In b, std::optional<In> c) {
    require(a.shape(0) == b.shape(0) && (!c || b.shape(0) == c->shape(0)), "a, b and c differ in length");
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
        n_terms += std::min<std::size_t>(size, 12) + 1;  // the sums of the lanes and of the blocks
    }
    const Rounded rounded(sum, n_terms);
    return {rounded.high, rounded.error + std::fabs(rounded.low)};
}

// The rounded sums of two vectors, and their exact rounding errors (Knuth's TwoSum)
SKPD_CLONES void sums_and_errors(std::size_t n, const double* a, const double* b, double* total, double* rest) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double sum = a[i] + b[i], share = sum - a[i];
        total[i] = sum;
        rest[i] = (a[i] - (sum - share)) + (b[i] - share);
    }
}

template <class T>
bool equal(Array<const T> a, Array<const T> b) {
    return std::equal(a.data(), a.data() + a.shape(0), b.data(), b.data() + b.shape(0));
}

}  // namespace

void bind_vectors(nb::module_& m) {
    m.def(
        "dot",
        [](In a, In b) {
            require(a.shape(0) == b.shape(0), "a and b differ in length");
            return dense_dot(a.data(), b.data(), a.shape(0));
        },
        "a"_a, "b"_a, "a'b by one thread: those of BLAS wait for each other where cores are busy.");
    m.def(
        "sum_and_rest",
        [](In a, In b) {
            require(a.shape(0) == b.shape(0), "a and b differ in length");
            std::vector<double> total(a.shape(0)), rest(a.shape(0));
            {
                nb::gil_scoped_release release;
                sums_and_errors(total.size(), a.data(), b.data(), total.data(), rest.data());
            }
            return nb::make_tuple(as_numpy(std::move(total)), as_numpy(std::move(rest)));
        },
        "a"_a, "b"_a, "The rounded sums of two vectors, and their exact rounding errors.");
    m.def(
        "compensated_dot", &compensated_dot,
        "a"_a, "b"_a, "c"_a = nb::none(),
        "sum_i a_i b_i c_i in twice the working precision, and a bound on its error; c_i is 1 if not given.");
    m.def("equal", &equal<double>, "a"_a, "b"_a, "Whether two vectors are the same, number by number.");
    m.def("equal", &equal<std::int64_t>, "a"_a, "b"_a);
    m.def(
        "excess",
        [](In x, double threshold) {
            std::vector<double> out;
            for (std::size_t j = 0; j < x.shape(0); ++j)
                if (const double rest = std::fabs(x.data()[j]) - threshold; !(rest <= 0.0)) out.push_back(rest);
            return as_numpy(std::move(out));
        },
        "x"_a, "threshold"_a, "What of |x_j| is above a threshold, where anything is; NaN is.");
    m.def(
        "without_negligible",
        [](In x, double share) {
            const double threshold = share * max_abs(x.data(), x.shape(0));
            std::vector<double> out(x.data(), x.data() + x.shape(0));
            for (double& value : out) value = std::fabs(value) > threshold ? value : 0.0;
            return as_numpy(std::move(out));
        },
        "x"_a, "share"_a, "A copy with 0 for what is at most a share of the largest magnitude.");
    m.def("max_abs", [](In x) { return max_abs(x.data(), x.shape(0)); }, "x"_a, "max_j |x_j|, 0 of no numbers.");
    m.def("sum_abs", [](In x) { return sum_abs(x.data(), x.shape(0)); }, "x"_a, "sum_j |x_j|.");
    m.def("euclidean_norm", [](In x) { return euclidean_norm(x.data(), x.shape(0)); }, "x"_a,
          "||x||_2, without under- or overflow on the way.");
    m.def(
        "group_norms",
        [](In x, Indices order, Indices starts) {
            const std::size_t n_groups = std::max<std::size_t>(starts.shape(0), 1) - 1;
            require_starts(starts, n_groups, order.shape(0));
            require_within(order, x.shape(0), "order must hold places in x");
            std::vector<double> out(n_groups), sorted(order.shape(0));
            for (std::size_t a = 0; a < sorted.size(); ++a) sorted[a] = x.data()[order.data()[a]];
            const std::int64_t* start = starts.data();
            for (std::size_t g = 0; g < n_groups; ++g)
                out[g] = euclidean_norm(sorted.data() + start[g], start[g + 1] - start[g]);
            return as_numpy(std::move(out));
        },
        "x"_a, "order"_a, "starts"_a, "The Euclidean norm of each group of the entries of x in this order.");
    m.def(
        "sparse_group_dual_norms",
        [](In x, Indices starts, In weights, double l1_ratio) {
            const std::size_t n_groups = weights.shape(0);
            require_starts(starts, n_groups, x.shape(0));
            std::vector<double> out(n_groups);
            const std::int64_t* start = starts.data();
            for (std::size_t g = 0; g < n_groups; ++g)
                out[g] = sparse_group_dual_norm(x.data() + start[g], start[g + 1] - start[g], l1_ratio, weights.data()[g]);
            return as_numpy(std::move(out));
        },
        "x"_a, "starts"_a, "weights"_a, "l1_ratio"_a,
        "For each group, the dual norm of l1_ratio ||.||_1 + (1 - l1_ratio) weight ||.||_2.");
    m.def(
        "allocate_and_free",
        [](std::size_t n_bytes) {
            void* volatile block = std::malloc(n_bytes);  // volatile, or the pair would be left out
            std::free(block);
        },
        "n_bytes"_a, "Allocates so many bytes and frees them, untouched.");
}

}  // namespace skpd
