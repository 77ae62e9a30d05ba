// Python bindings of what is asked of vectors: inner products, equality, entries above a threshold.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "data/compensated.hpp"
#include "data/dense_vectors.hpp"
#include "maths/norms.hpp"

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
        "compensated_dot", &compensated_dot,
        "a"_a, "b"_a, "c"_a = nb::none(),
        "sum_i a_i b_i c_i in twice the working precision, and a bound on its error; c_i is 1 if not given.");
    m.def(
        "equal",
        [](In a, In b) { return a.shape(0) == b.shape(0) && std::equal(a.data(), a.data() + a.shape(0), b.data()); },
        "a"_a, "b"_a, "Whether two vectors are the same, number by number.");
    m.def(
        "equal",
        [](Array<const std::int64_t> a, Array<const std::int64_t> b) {
            return a.shape(0) == b.shape(0) && std::equal(a.data(), a.data() + a.shape(0), b.data());
        },
        "a"_a, "b"_a);
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
            const double least = share * max_abs(x.data(), x.shape(0));
            std::vector<double> out(x.data(), x.data() + x.shape(0));
            for (double& value : out) value = std::fabs(value) > least ? value : 0.0;
            return as_numpy(std::move(out));
        },
        "x"_a, "share"_a, "A copy with 0 for what is at most a share of the largest magnitude.");
}

}  // namespace skpd
