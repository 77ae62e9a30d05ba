// Python binding of an iteration of Pdprox as one pass over the rows.
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "bind/losses.hpp"
#include "bind/matrix.hpp"
#include "data/row_pass.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

double reflected_halpern_step(const Matrix& matrix, AnyLoss any_loss, In y, In weights, In step, In anchor,
                              double scale, double momentum, In coef, double intercept, Out theta, Out prox,
                              Out gradient) {
    for (const auto* array : {&y, &weights, &step, &anchor})
        require(array->shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
    require(theta.shape(0) == matrix.n_rows() && prox.shape(0) == matrix.n_rows() &&
                coef.shape(0) == matrix.n_columns() && gradient.shape(0) == matrix.n_columns(),
            "the vector does not fit the matrix");
    nb::gil_scoped_release release;
    std::fill_n(gradient.data(), matrix.n_columns(), 0.0);
    return std::visit(
        [&](const auto* loss, const auto& layout) {
            using Loss = std::remove_cvref_t<decltype(*loss)>;
            const ReflectedHalpern<Loss> update{*loss, y.data(), weights.data(), step.data(), anchor.data(),
                                                scale, momentum, theta.data(), prox.data()};
            return row_pass(layout, matrix.by_row(), matrix.n_rows(), coef.data(), intercept, gradient.data(),
                            update);
        },
        any_loss, matrix.layout());
}

}  // namespace

void bind_row_pass(nb::class_<Matrix>& matrix) {
    matrix.def(
        "reflected_halpern_step", &reflected_halpern_step, "loss"_a, "y"_a, "weights"_a, "step"_a, "anchor"_a,
        "scale"_a, "momentum"_a, "coef"_a, "intercept"_a, "theta"_a, "prox"_a, "gradient"_a,
        "Dual half of a reflected Halpern step in one pass over the rows: overwrites theta and prox with the "
        "new dual iterate and its proximal step, gradient with X' (weights * theta); returns weights . theta.");
}

}  // namespace skpd
