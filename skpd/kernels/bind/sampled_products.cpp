// Python bindings of entries of a product of two factors.
#include <cstddef>
#include <cstdint>

#include "bind/matrix.hpp"
#include "data/products.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

using Indices = Array<const std::int32_t>;

void checked(InTable left, InTable right, Indices rows, Indices columns, Out out) {
    const std::size_t n = out.shape(0), rank = left.shape(1);
    require(right.shape(1) == rank && rows.shape(0) == n && columns.shape(0) == n, "factors and entries do not fit");
    const auto within = [n](const Indices& indices, std::size_t most) {
        for (std::size_t e = 0; e < n; ++e)
            if (indices.data()[e] < 0 || static_cast<std::size_t>(indices.data()[e]) >= most) return false;
        return true;
    };
    require(within(rows, left.shape(0)) && within(columns, right.shape(0)), "entries must lie in the matrix");
    nb::gil_scoped_release release;
    sampled_products(left.data(), right.data(), rank, rows.data(), columns.data(), n, out.data());
}

}  // namespace

void bind_sampled_products(nb::module_& m) {
    m.def("sampled_products", &checked, "left"_a, "right"_a, "rows"_a, "columns"_a, "out"_a,
          "Entries of left right', at some rows and columns.");
}

}  // namespace skpd
