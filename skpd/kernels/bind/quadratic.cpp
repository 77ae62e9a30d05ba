// The Python bindings of the quadratics given by their matrix: coordinate descents, Newton steps, and the coordinates
// that a proximal step moves (methods/penalised_quadratic.hpp has the problem).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <variant>

#include "bind/arrays.hpp"
#include "maths/norms.hpp"
#include "methods/penalised_quadratic.hpp"
#include "methods/plane_shares.hpp"

namespace skpd {
namespace {

// A `Number` is one number for all coordinates, or an array with one for each.
using Number = std::variant<double, In>;
double entry(const Number& number, std::size_t j) {
    const In* array = std::get_if<In>(&number);
    return array ? array->data()[j] : std::get<double>(number);
}

// Takes alpha, and l1, l2, lower and upper as numbers or with n_penalised entries.
void make_separable(SeparableCoordinates* self, std::size_t n_penalised, double alpha, Number l1, Number l2,
                    Number lower, Number upper) {
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
}

template <class R>
GramQuadratic model(const InTable& H, const R& penalty, const Out& p, const Out& r) {
    const std::size_t n = p.shape(0);
    require(penalty.n_penalised() <= n && have_shape(n, n, H) && r.shape(0) == n,
            "H, p, r and the penalty differ in length");
    return {H.data(), n, p.data(), r.data()};
}

double minimise_groups(InTable H, const GroupedCoordinates& penalty, Out p, Out r, int sweeps, double tol, int rounds) {
    const GramQuadratic quadratic = model(H, penalty, p, r);
    nb::gil_scoped_release release;
    return alternate(quadratic, penalty, sweeps, tol, rounds);
}

bool minimise(SupportSystem& system, InTable H, Indices columns, const SeparableCoordinates& penalty, Out p, Out r,
              int sweeps, double tol, int rounds) {
    const GramQuadratic quadratic = model(H, penalty, p, r);
    require(columns.shape(0) == penalty.n_penalised(), "as many columns as penalised coordinates");
    nb::gil_scoped_release release;
    system.name(columns.data(), columns.shape(0), p.shape(0));
    return alternate(quadratic, penalty, sweeps, tol, rounds, system) <= tol;
}

// The coordinates j with w_j != 0 or v_j > 0, their v_j, and max_j v_j, where
//   v_j = |w_j - prox_j(w_j - t_j gradient_j)| / t_j,    t_j = step steps_j,
// is the length of a proximal gradient step over its step size; w, gradient, steps and expected (n), and steps_j = 1 by
// default. A coordinate with w_j = 0 must also be moved by a step along the expected gradient, if that is given.
auto active_or_violating(In w, In gradient, const SeparableCoordinates& terms, double step, std::optional<In> steps,
                         std::optional<In> expected) {
    const std::size_t n = w.shape(0);
    require(terms.n_penalised() == n && have_length(n, gradient, steps.value_or(w), expected.value_or(w)),
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

// slopes (n), or (0) without an intercept
auto move_shares(InTable H, In e, In slopes, Out a, double accuracy, double least_share, int max_steps) {
    const std::size_t n = a.shape(0), n_slopes = slopes.shape(0);
    require(n > 0 && have_shape(n, n, H) && e.shape(0) == n && (n_slopes == n || n_slopes == 0),
            "H, e, slopes and a differ in length");
    PlaneShares planes{n, H.data(), e.data(), n_slopes ? slopes.data() : nullptr, a.data(), accuracy, least_share};
    const bool settled = without_lock([&] { return planes.minimise(max_steps); });
    return std::make_tuple(settled, planes.multipliers[1]);
}

}  // namespace

void bind_quadratic(nb::module_& m) {
    nb::class_<SeparableCoordinates>(m, "SeparableCoordinates").def("__init__", &make_separable);
    nb::class_<GroupedCoordinates>(m, "GroupedCoordinates")
        .def("__init__", [](GroupedCoordinates* self, double l1, In weights, Indices starts) {
            require_starts(starts, weights.shape(0));
            new (self) GroupedCoordinates{l1, weights.data(), starts.data(), weights.shape(0)};
        }, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
    nb::class_<SupportSystem>(m, "SupportSystem").def(nb::init<>());
    m.def("minimise_separable", &minimise);
    m.def("minimise_grouped", &minimise_groups);
    m.def("move_shares", &move_shares);
    m.def("active_or_violating", &active_or_violating, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().none());
}

}  // namespace skpd
