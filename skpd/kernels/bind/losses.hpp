// A loss whichever it is, of those that methods are compiled for.
#pragma once

#include <variant>

#include "maths/losses.hpp"

namespace skpd {

using AnyLoss = std::variant<const HingeLoss*, const GeneralizedHingeLoss*, const LogisticLoss*,
                             const PiecewiseLinearLoss*, const ResidualLoss*>;

}  // namespace skpd
