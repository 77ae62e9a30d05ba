// Python binding of pair descent on a kernel matrix.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/losses.hpp"
#include "methods/pair_descent.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

std::unique_ptr<PairDescent> make(AnyLoss any_loss, InTable K, In y, In weights, double alpha, bool has_intercept) {
    const std::size_t n = K.shape(0);
    require(n > 0 && K.shape(1) == n, "K must be square");
    require(have_length(n, y, weights), "y and weights must have a number for each row of K");
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto* loss) -> std::unique_ptr<PairDescent> {
            using Loss = std::remove_cvref_t<decltype(*loss)>;
            if constexpr (Loss::quadratic_pieces)
                return std::make_unique<PairDescentOn<Loss>>(*loss, K.data(), n, y.data(), weights.data(), alpha,
                                                             has_intercept);
            else throw std::invalid_argument("the conjugate of the loss must have quadratic pieces");
        },
        any_loss);
}

}  // namespace

void bind_pair_descent(nb::module_& m) {
    nb::class_<PairDescent>(m, "PairDescent", "Sequential minimal optimisation on a kernel matrix.")
        .def("run", &PairDescent::run, "target"_a, "most_steps"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Steps until the gap is at most the target, or so many; their number and the gap.")
        .def("refresh", &PairDescent::refresh, nb::call_guard<nb::gil_scoped_release>(),
             "Computes the values of the functions from theta.")
        .def("theta", [](const PairDescent& self) { return as_numpy(self.theta()); }, "The dual point.")
        .def("intercept", &PairDescent::intercept, "The intercept that goes with it.");
    m.def("pair_descent", &make, "loss"_a, "K"_a, "y"_a, "weights"_a, "alpha"_a, "has_intercept"_a,
          nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(),
          "Pair descent from theta = 0.");
}

}  // namespace skpd
