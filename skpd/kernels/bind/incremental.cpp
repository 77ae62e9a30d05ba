// The Python bindings of the epigraph projections and of the incremental methods (maths/epigraph.hpp and
// published/incremental.hpp have the formulas).
#include <nanobind/stl/pair.h>

#include "bind/matrix.hpp"
#include "maths/epigraph.hpp"
#include "published/incremental.hpp"

namespace skpd {
namespace {

Incremental make(const Matrix& matrix, In y, In weights, double norm, double epsilon, double kappa, double ridge,
                 bool fit_intercept) {
    require(matrix.by_row(), "the matrix must be stored by rows");
    require(have_length(matrix.n_rows(), y, weights), "the vector does not fit the matrix");
    require(norm == 1.0 || norm == 2.0 || std::isinf(norm), "the norm must be 1, 2 or inf");
    return {matrix.layout(), y.data(), weights.data(), {norm, epsilon, kappa, ridge, fit_intercept}};
}

// Makes a pass of one of the methods; tol is that of the proximal one.
template <auto method, class... Tol>
void pass(Incremental& self, Indices rows, double step, std::size_t batch, Tol... tol) {
    require_within(rows, self.p.size(), "a row lies outside the matrix");
    require(batch > 0, "a batch needs a row");
    nb::gil_scoped_release release;
    (self.*method)(rows.data(), rows.shape(0), step, batch, tol...);
}

}  // namespace

void bind_incremental(nb::module_& m) {
    // The norm is 1, 2 or inf; point and w (d).
    m.def("project_epigraph", [](In point, double radius, double norm, double aperture) {
        std::vector<double> w = copied(point);
        const double lam = with_epigraph(
            norm, [&]<class Epigraph>(Epigraph) { return Epigraph::project(w.data(), w.size(), radius, aperture); });
        return std::make_pair(as_numpy(std::move(w)), lam);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg() = 1.0);
    nb::class_<Incremental>(m, "Incremental")
        .def("subgradient_pass", &pass<&Incremental::subgradient_pass>)
        .def("proximal_pass", &pass<&Incremental::proximal_pass, double>, nb::arg(), nb::arg(), nb::arg() = 1,
             nb::arg() = 0.0)
        .def("move", [](Incremental& self, In w, double radius, double intercept) {
            require(w.shape(0) == self.w.size(), "the vector does not fit the matrix");
            self.w = copied(w);
            self.radius = radius;
            self.intercept = intercept;
        })
        .def("w", [](const Incremental& self) { return as_numpy(self.w); })
        .def("multipliers", [](const Incremental& self) { return std::make_pair(as_numpy(self.p), as_numpy(self.r)); })
        .def_ro("radius", &Incremental::radius)
        .def_ro("intercept", &Incremental::intercept);
    m.def("incremental", &make, nb::keep_alive<0, 1>());
}

}  // namespace skpd
