// The Python binding of primal-dual block Frank-Wolfe (published/block_frank_wolfe.hpp has the problem).
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <type_traits>
#include <variant>

#include "bind/matrix.hpp"
#include "published/block_frank_wolfe.hpp"

using namespace nanobind::literals;

namespace skpd {
void bind_block_frank_wolfe(nb::module_& m) {
    nb::class_<BlockFrankWolfe>(m, "BlockFrankWolfe",
        "Primal-dual block Frank-Wolfe with its iterates x (d) and theta (n).")
        .def("run", &BlockFrankWolfe::run, "target"_a, "max_iter"_a, "max_entries"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "Iterates up to one of the limits; returns the number of iterations and the gap.")
        .def("recentre", &BlockFrankWolfe::recentre,
            "Moves the offset to the intercept, and returns sum_i c_i theta_i.")
        .def("refresh", &BlockFrankWolfe::refresh, nb::call_guard<nb::gil_scoped_release>(),
             "Recomputes the products of x and theta, without the rounding errors of updates.")
        .def("theta", [](const BlockFrankWolfe& self) { return as_numpy(self.theta()); },
            "Returns the dual point theta (n).")
        .def("variables", [](const BlockFrankWolfe& self) { return as_numpy(self.variables()); },
             "Returns the primal point x followed by the intercept's coordinate (d + 1).")
        .def_prop_ro("entries", &BlockFrankWolfe::entries,
            "The number of entries of the matrix that have been read.");
    m.def(
        "block_frank_wolfe",
        [](const Matrix& matrix, AnyLoss any_loss, In y, In weights, In theta, double mu, double radius,
           double constant, double offset, bool line_search, double eta, double dual_step, std::size_t sparsity,
           std::size_t n_coordinates) {
            require(matrix.by_row(), "the matrix must be stored by rows");
            require(std::max(matrix.n_rows(), matrix.n_columns()) < (std::size_t{1} << 32) &&
                        have_length(matrix.n_rows(), y, weights, theta),
                    "the matrix and vectors must fit each other, with sizes below 2^32");
            const BlockFrankWolfeSettings settings{mu,  radius,    constant, offset,       line_search,
                                                   eta, dual_step, sparsity, n_coordinates};
            nb::gil_scoped_release release;
            return std::visit(
                [&](const auto* loss) -> std::unique_ptr<BlockFrankWolfe> {
                    using Method = BlockFrankWolfeOn<std::remove_cvref_t<decltype(*loss)>>;
                    return std::make_unique<Method>(*loss, matrix.layout(), y.data(), weights.data(), theta.data(),
                                                    settings);
                },
                any_loss);
        },
        "matrix"_a, "loss"_a, "y"_a, "weights"_a, "theta"_a, "mu"_a, "radius"_a, "constant"_a, "offset"_a,
        "line_search"_a, "eta"_a, "dual_step"_a, "sparsity"_a, "n_coordinates"_a, nb::keep_alive<0, 1>(),
        "Makes a `BlockFrankWolfe` on a matrix (n, d) stored by rows.");
}

}  // namespace skpd
