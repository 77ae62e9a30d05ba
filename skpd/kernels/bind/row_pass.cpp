// Python binding of an iteration of Pdprox as one pass over the rows.
#include <nanobind/stl/variant.h>

#include <type_traits>
#include <variant>

#include "bind/losses.hpp"
#include "bind/matrix.hpp"
#include "data/row_pass.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_row_pass(nb::class_<Matrix>& matrix) {
    matrix.def(
        "reflected_halpern_step",
        [](const Matrix& self, AnyLoss any_loss, In y, In weights, In step, In anchor, double scale,
           double momentum, In coef, double intercept, Out theta, Out prox, Out gradient) {
            for (const auto* array : {&y, &weights, &step, &anchor})
                require(array->shape(0) == self.n_rows(), "the vector does not fit the matrix");
            require(theta.shape(0) == self.n_rows() && prox.shape(0) == self.n_rows(),
                    "the vector does not fit the matrix");
            return std::visit(
                [&](const auto* loss) {
                    return self.row_pass(
                        coef, intercept, gradient,
                        ReflectedHalpern<std::remove_cvref_t<decltype(*loss)>>{
                            *loss, y.data(), weights.data(), step.data(), anchor.data(), scale, momentum,
                            theta.data(), prox.data()});
                },
                any_loss);
        },
        "loss"_a, "y"_a, "weights"_a, "step"_a, "anchor"_a, "scale"_a, "momentum"_a, "coef"_a, "intercept"_a,
        "theta"_a, "prox"_a, "gradient"_a,
        "Dual half of a reflected Halpern step in one pass over the rows: overwrites theta and prox with the "
        "new dual iterate and its proximal step, gradient with X' (weights * theta); returns weights . theta.");
}

}  // namespace skpd
