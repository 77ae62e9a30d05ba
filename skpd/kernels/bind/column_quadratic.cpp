// Python bindings of the quadratics given by a factor of their curvature.
#include <nanobind/stl/pair.h>

#include <chrono>

#include "bind/matrix.hpp"
#include "methods/column_quadratic.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// A quadratic at a point, as Python holds it
struct Model {
    const ScaledColumns& columns;
    Indices places;
    In g, w, ridge;
    Out p, s;

    template <class R, class Act>
    auto operator()(const R& penalty, Act act) const {
        const std::size_t n = p.shape(0);
        require(penalty.n_penalised() <= n, "the penalty does not fit p");
        require(have_length(n, places, g, w, ridge) && s.shape(0) == columns.n_rows(),
                "places, g, w, ridge, p and s differ in length");
        require_within(places, columns.size(), "a place lies outside the columns");
        auto looked = std::chrono::steady_clock::now();
        const auto pause = [&looked] {  // for Ctrl-C
            const auto now = std::chrono::steady_clock::now();
            if (now - looked < std::chrono::milliseconds(200)) return;
            looked = now;
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        };
        nb::gil_scoped_release release;
        return columns.visit([&](const auto& of) {
            return act(ColumnQuadratic<std::remove_cvref_t<decltype(of)>>{of, columns.squares(), places.data(), n, g.data(),
                                                                         w.data(), ridge.data(), p.data(), s.data(), pause});
        });
    }
};

template <class R>
void bind_methods(nb::class_<ScaledColumns>& bound) {
    bound.def(
        "descend",
        [](const ScaledColumns& self, Indices places, In g, In w, In ridge, const R& penalty, Out p, Out s, int sweeps,
           double tol) {
            return Model{self, places, g, w, ridge, p, s}(penalty, [&](auto quadratic) {
                return quadratic.descend(penalty, sweeps, tol);
            });
        },
        "places"_a, "g"_a, "w"_a, "ridge"_a, "penalty"_a, "p"_a, "s"_a, "sweeps"_a, "tol"_a,
        "Coordinate descent on a quadratic at p, s = A (p - w); updates both, returns the last largest change and the number of sweeps.");
    bound.def(
        "newton_step",
        [](const ScaledColumns& self, Indices places, In g, In w, In ridge, const R& penalty, Out p, Out s, int most,
           double accuracy) {
            return Model{self, places, g, w, ridge, p, s}(penalty, [&](auto quadratic) {
                return quadratic.newton_step(penalty, most, accuracy);
            });
        },
        "places"_a, "g"_a, "w"_a, "ridge"_a, "penalty"_a, "p"_a, "s"_a, "most"_a, "accuracy"_a,
        "A Newton step on the support of p by at most so many conjugate gradients; their number.");
}

}  // namespace

void bind_column_quadratic(nb::module_& m) {
    nb::class_<SeparableCoordinates>(m, "SeparableCoordinates", "Separable terms of the first coordinates.")
        .def("__init__",
             [](SeparableCoordinates* self, const SeparableTerms& terms, std::size_t n_penalised) {
                 require(terms.fit(n_penalised), "as many terms as penalised coordinates");
                 new (self) SeparableCoordinates{terms, n_penalised};
             },
             "terms"_a, "n_penalised"_a, nb::keep_alive<1, 2>());
    nb::class_<GroupedCoordinates>(m, "GroupedCoordinates", "l1 ||p||_1 + sum_g weight_g ||p_g||_2, groups side by side.")
        .def("__init__",
             [](GroupedCoordinates* self, double l1, In weights, Indices starts) {
                 const std::size_t n_groups = weights.shape(0);
                 require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
                 for (std::size_t g = 0; g < n_groups; ++g)
                     require(starts.data()[g] >= 0 && starts.data()[g] <= starts.data()[g + 1], "starts must increase");
                 new (self) GroupedCoordinates{l1, weights.data(), starts.data(), n_groups};
             },
             "l1"_a, "weights"_a, "starts"_a, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
    nb::class_<ScaledColumns> columns(m, "ScaledColumns", "Columns of diag(h)^(1/2) X without the rows with h = 0.");
    columns
        .def("__init__",
             [](ScaledColumns* self, const Matrix& matrix, In h, bool ones) {
                 require(h.shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
                 std::visit(
                     [&](const auto& layout) {
                         new (self) ScaledColumns(layout, matrix.by_row(), matrix.n_rows(), h.data(), ones);
                     },
                     matrix.layout());
             },
             "matrix"_a, "h"_a, "ones"_a)
        .def("append",
             [](ScaledColumns& self, const Matrix& matrix, Indices wanted) {
                 require(matrix.n_rows() == self.n_samples() && self.fits(matrix.layout()),
                         "the matrix does not fit the columns");
                 require_within(wanted, matrix.n_columns(), "columns must lie in the matrix");
                 nb::gil_scoped_release release;
                 std::visit(
                     [&](const auto& layout) {
                         self.append(layout, matrix.by_row(), matrix.n_rows(), matrix.n_columns(), wanted.data(),
                                     wanted.shape(0));
                     },
                     matrix.layout());
             },
             "matrix"_a, "columns"_a, nb::keep_alive<1, 2>(), "Puts some columns of the same matrix, scaled, behind those at hand.")
        .def_prop_ro("n_rows", &ScaledColumns::n_rows)
        .def_prop_ro("size", &ScaledColumns::size, "How many columns.")
        .def("squares", [](const ScaledColumns& self) { return as_numpy(self.squares()); }, "||A_a||^2 of every column.");
    bind_methods<SeparableCoordinates>(columns);
    bind_methods<GroupedCoordinates>(columns);
}

}  // namespace skpd
