// The Python binding of primal-dual block Frank-Wolfe (published/block_frank_wolfe.hpp has the problem).
#include "published/block_frank_wolfe.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include "bind/matrix.hpp"

namespace skpd {
namespace {

BlockFrankWolfe make(const Matrix& matrix, AnyLoss loss, In y, In weights, In theta, double mu, double radius,
                     double constant, double offset, bool line_search, double eta, double dual_step,
                     std::size_t sparsity, std::size_t n_coordinates) {
    require(matrix.by_row(), "the matrix must be stored by rows");
    require(std::max(matrix.n_rows(), matrix.n_columns()) < (std::size_t{1} << 32) &&
                have_length(matrix.n_rows(), y, weights, theta),
            "the matrix and vectors must fit each other, with sizes below 2^32");
    const BlockFrankWolfeSettings settings{mu,  radius,    constant, offset,       line_search,
                                           eta, dual_step, sparsity, n_coordinates};
    nb::gil_scoped_release release;
    return {loss, matrix.layout(), y.data(), weights.data(), theta.data(), settings};
}

}  // namespace

void bind_block_frank_wolfe(nb::module_& m) {
    nb::class_<BlockFrankWolfe>(m, "BlockFrankWolfe")
        .def("run", &BlockFrankWolfe::run, nb::call_guard<nb::gil_scoped_release>())
        .def("recentre", &BlockFrankWolfe::recentre)
        .def("refresh", &BlockFrankWolfe::refresh, nb::call_guard<nb::gil_scoped_release>())
        .def("theta", [](const BlockFrankWolfe& self) { return as_numpy(self.theta()); })
        .def("variables", [](const BlockFrankWolfe& self) { return as_numpy(self.variables()); })
        .def_prop_ro("entries", &BlockFrankWolfe::entries);
    m.def("block_frank_wolfe", &make, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
}

}  // namespace skpd
