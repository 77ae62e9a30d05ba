// The Python bindings of the quadratics given by a factor of their curvature (methods/column_quadratic.hpp has the
// problem).
#include <nanobind/stl/pair.h>

#include <chrono>

#include "bind/matrix.hpp"
#include "methods/column_quadratic.hpp"

namespace skpd {
namespace {

// Binds step(quadratic, penalty, max_steps, tol), which updates p (n) and s = A (p - w) (m) of a quadratic.
template <class R, class Step>
void bind_step(nb::class_<ScaledColumns>& bound, const char* name, Step step) {
    bound.def(name, [step](const ScaledColumns& self, Indices indices, In g, In w, In ridge, const R& penalty, Out p,
                           Out s, int max_steps, double tol) {
        const std::size_t n = p.shape(0);
        require(penalty.n_penalised() <= n, "the penalty does not fit p");
        require_length(n, indices, g, w, ridge);
        require_length(self.n_rows(), s);
        require_within(indices, self.size(), "an index lies outside the columns");
        auto looked = std::chrono::steady_clock::now();
        const auto pause = [&looked] {  // notices Ctrl-C
            const auto now = std::chrono::steady_clock::now();
            if (now - looked < std::chrono::milliseconds(200)) return;
            looked = now;
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        };
        nb::gil_scoped_release release;
        return self.visit([&]<class Columns>(const Columns& columns) {
            ColumnQuadratic<Columns> quadratic{columns,  self.squares(), indices.data(), n,        g.data(),
                                               w.data(), ridge.data(),   p.data(),       s.data(), pause};
            return step(quadratic, penalty, max_steps, tol);
        });
    });
}

template <class R>
void bind_steps(nb::class_<ScaledColumns>& bound) {
    bind_step<R>(bound, "descend", [](auto& quadratic, const R& penalty, int sweeps, double tol) {
        return quadratic.descend(penalty, sweeps, tol);
    });
    bind_step<R>(bound, "newton_step", [](auto& quadratic, const R& penalty, int max_steps, double tol) {
        return quadratic.newton_step(penalty, max_steps, tol);
    });
}

void take_columns(ScaledColumns* self, const Matrix& matrix, In h, Indices wanted, bool ones) {
    require(h.shape(0) == matrix.n_rows(), "the vector does not fit the matrix");
    require_within(wanted, matrix.n_columns(), "columns must lie in the matrix");
    nb::gil_scoped_release release;
    matrix.visit([&](const auto& layout) {
        new (self) ScaledColumns(layout, matrix.by_row(), matrix.n_rows(), h.data(), wanted.data(), wanted.shape(0),
                                 ones);
    });
}

}  // namespace

void bind_column_quadratic(nb::module_& m) {
    nb::class_<ScaledColumns> columns(m, "ScaledColumns");
    columns.def("__init__", &take_columns, nb::keep_alive<1, 2>())
        .def_prop_ro("n_rows", &ScaledColumns::n_rows)
        .def_prop_ro("size", &ScaledColumns::size)
        .def("squares", [](const ScaledColumns& self) { return as_numpy(self.squares()); });
    bind_steps<SeparableCoordinates>(columns);
    bind_steps<GroupedCoordinates>(columns);
}

}  // namespace skpd
