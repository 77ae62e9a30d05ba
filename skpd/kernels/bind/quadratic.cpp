// Python bindings of the quadratics given by their matrix: coordinate descents, and what a Newton step does.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "maths/norms.hpp"
#include "methods/separable_quadratic.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// A number for all coordinates or one each
using Number = std::variant<double, In>;
double entry(const Number& number, std::size_t j) {
    return std::visit(
        [&](const auto& x) -> double {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, double>) return x;
            else return x.data()[j];
        },
        number);
}

void bind_penalties(nb::module_& m) {
    nb::class_<SeparableCoordinates>(m, "SeparableCoordinates",
                                     "alpha (l1 |p| + l2 p^2 / 2) on [lower, upper] of the first coordinates, with "
                                     "numbers for all of them or one each.")
        .def("__init__",
             [](SeparableCoordinates* self, std::size_t n_penalised, double alpha, Number l1, Number l2, Number lower,
                Number upper) {
                 std::size_t n_terms = 1;
                 for (const Number* number : {&l1, &l2, &lower, &upper})
                     if (const In* array = std::get_if<In>(number)) {
                         require(array->shape(0) == n_penalised, "as many terms as penalised coordinates");
                         n_terms = n_penalised;
                     }
                 std::vector<SeparableTerm> terms;
                 terms.reserve(n_terms);
                 for (std::size_t j = 0; j < n_terms; ++j)
                     terms.push_back({alpha * entry(l1, j), alpha * entry(l2, j), entry(lower, j), entry(upper, j)});
                 new (self) SeparableCoordinates(std::move(terms), n_penalised);
             },
             "n_penalised"_a, "alpha"_a, "l1"_a, "l2"_a, "lower"_a, "upper"_a);
    nb::class_<GroupedCoordinates>(m, "GroupedCoordinates", "l1 ||p||_1 + sum_g weight_g ||p_g||_2, groups side by side.")
        .def("__init__",
             [](GroupedCoordinates* self, double l1, In weights, Indices starts) {
                 require_starts(starts, weights.shape(0));
                 new (self) GroupedCoordinates{l1, weights.data(), starts.data(), weights.shape(0)};
             },
             "l1"_a, "weights"_a, "starts"_a, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
}

template <class R>
GramQuadratic model(const InTable& H, const R& penalty, const Out& p, const Out& r) {
    const std::size_t n = p.shape(0);
    require(penalty.n_penalised() <= n && have_shape(n, n, H) && r.shape(0) == n,
            "H, p, r and the penalty differ in length");
    return {H.data(), n, p.data(), r.data()};
}

double sweep_blocks(InTable H, const GroupedCoordinates& penalty, Out p, Out r, int sweeps, double tol) {
    GramQuadratic quadratic = model(H, penalty, p, r);
    nb::gil_scoped_release release;
    return quadratic.descend(penalty, sweeps, tol);
}

void minimise(SupportSystem& system, InTable H, Indices columns, const SeparableCoordinates& penalty, Out p, Out r,
              int sweeps, double tol, int rounds) {
    const GramQuadratic quadratic = model(H, penalty, p, r);
    require(columns.shape(0) == penalty.n_penalised(), "as many columns as penalised coordinates");
    nb::gil_scoped_release release;
    system.name(columns.data(), columns.shape(0), p.shape(0));
    minimise_separable(quadratic, penalty, sweeps, tol, rounds, system);
}

auto active_or_violating(In w, In gradient, const SeparableCoordinates& terms, double step, std::optional<In> steps,
                         std::optional<In> expected) {
    const std::size_t n = w.shape(0);
    const auto fits = [n](const std::optional<In>& array) { return !array || array->shape(0) == n; };
    require(terms.n_penalised() == n && gradient.shape(0) == n && fits(steps) && fits(expected),
            "w, gradient, terms, steps and expected differ in length");
    const double *at = w.data(), *slopes = gradient.data();
    std::vector<std::int64_t> columns;
    std::vector<double> violations, all;
    for (std::size_t j = 0; j < n; ++j) {
        const SeparableTerm& term = terms[j];
        if (at[j] == 0.0 && std::fabs(slopes[j]) <= term.l1) continue;
        const double length = steps ? step * steps->data()[j] : step;
        const auto moved = [&](double slope) { return term.prox(at[j] - length * slope, length); };
        const double violation = std::fabs(at[j] - moved(slopes[j])) / length;
        all.push_back(violation);
        if (at[j] == 0.0 && (!(violation > 0.0) || (expected && moved(expected->data()[j]) == 0.0))) continue;
        columns.push_back(static_cast<std::int64_t>(j));
        violations.push_back(violation);
    }
    const double largest = max_abs(all.data(), all.size());
    return std::make_tuple(as_numpy(std::move(columns)), as_numpy(std::move(violations)), largest);
}

}  // namespace

void bind_quadratic(nb::module_& m) {
    bind_penalties(m);
    nb::class_<SupportSystem>(m, "SupportSystem", "Factors of a matrix on one support after another.").def(nb::init<>());
    m.def("block_coordinate_descent", &sweep_blocks, "H"_a, "penalty"_a, "p"_a, "r"_a, "sweeps"_a, "tol"_a,
          "Block coordinate descent on a quadratic with gradient r at p; updates both, returns the last largest "
          "change.");
    m.def("minimise_separable", &minimise, "system"_a, "H"_a, "columns"_a, "penalty"_a, "p"_a, "r"_a, "sweeps"_a, "tol"_a,
          "rounds"_a,
          "Coordinate descent and Newton steps in turns on a quadratic with gradient r at p; updates both. The columns "
          "number the penalised coordinates for the system, those behind them have none.");
    m.def("active_or_violating", &active_or_violating, "w"_a, "gradient"_a, "terms"_a, "step"_a, "steps"_a.none(),
          "expected"_a.none(),
          "Where w is not 0 or a proximal gradient step moves it, one along an expected gradient as well if that is given: "
          "the coordinates, how far over the length of the step, and the most that is of any. The length is step, times "
          "the steps of the coordinates if they are given.");
}

}  // namespace skpd
