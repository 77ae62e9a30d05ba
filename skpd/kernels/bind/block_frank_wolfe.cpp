// Python binding of primal-dual block Frank-Wolfe.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <type_traits>
#include <variant>

#include "bind/matrix.hpp"
#include "methods/block_frank_wolfe.hpp"

using namespace nanobind::literals;

namespace skpd {
void bind_block_frank_wolfe(nb::module_& m) {
    nb::class_<BlockFrankWolfe>(m, "BlockFrankWolfe", "A primal-dual block Frank-Wolfe method and its iterates.")
        .def("run", &BlockFrankWolfe::run, "target"_a, "max_iter"_a, "max_entries"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "Iterations until the gap is at most the target, or so many, or so many entries visited; their number "
             "and the gap.")
        .def("recentre", &BlockFrankWolfe::recentre, "Moves the offset to the intercept; returns sum_i c_i theta_i.")
        .def("refresh", &BlockFrankWolfe::refresh, nb::call_guard<nb::gil_scoped_release>(),
             "Computes both products anew.")
        .def("theta", [](const BlockFrankWolfe& self) { return as_numpy(self.theta()); }, "The dual point.")
        .def("variables", [](const BlockFrankWolfe& self) { return as_numpy(self.variables()); },
             "The primal point, with the intercept's coordinate last.")
        .def_prop_ro("entries", &BlockFrankWolfe::entries, "Entries of the matrix visited.");
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
        "Primal-dual block Frank-Wolfe from theta, on a matrix stored by rows.");
}

}  // namespace skpd
