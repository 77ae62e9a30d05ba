// A loss whichever it is, of those that methods are compiled for, and the methods of a loss and a layout.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>

#include "bind/matrix.hpp"
#include "maths/losses.hpp"

namespace skpd {

using AnyLoss = std::variant<const HingeLoss*, const GeneralizedHingeLoss*, const LogisticLoss*,
                             const PiecewiseLinearLoss*, const ResidualLoss*>;

// Method<Loss, Layout>(loss, layout, arguments...) for the loss and the layout of a matrix
template <class Interface, template <class, class> class Method, class Loss, class... Arguments>
std::unique_ptr<Interface> method_of(const Loss& any_loss, const Matrix& matrix, const Arguments&... arguments) {
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto* loss, const auto& layout) -> std::unique_ptr<Interface> {
            using Of = Method<std::remove_cvref_t<decltype(*loss)>, std::remove_cvref_t<decltype(layout)>>;
            return std::make_unique<Of>(*loss, layout, arguments...);
        },
        any_loss, matrix.layout());
}

}  // namespace skpd
