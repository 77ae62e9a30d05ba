// The Python bindings of the epigraph projections and of the incremental methods (maths/epigraph.hpp and
// published/incremental.hpp have the formulas).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include "bind/matrix.hpp"
#include "maths/epigraph.hpp"
#include "published/incremental.hpp"

namespace skpd {
namespace {

// Calls f with the epigraph of the norm, which must be 1, 2 or inf.
template <class F>
auto with_epigraph(double norm, F f) {
    if (norm == 1.0) return f(L1Epigraph{});
    if (norm == 2.0) return f(L2Epigraph{});
    if (std::isinf(norm)) return f(LInfEpigraph{});
    throw std::invalid_argument("the norm must be 1, 2 or inf");
}

std::unique_ptr<Incremental> make(const Matrix& matrix, In y, In weights, double norm, double epsilon, double kappa,
                                  double ridge, bool fit_intercept) {
    require(matrix.by_row(), "the matrix must be stored by rows");
    require(have_length(matrix.n_rows(), y, weights), "the vector does not fit the matrix");
    const RobustSettings settings{epsilon, kappa, ridge, fit_intercept};
    return with_epigraph(norm, [&]<class Epigraph>(Epigraph) -> std::unique_ptr<Incremental> {
        return std::make_unique<IncrementalOn<Epigraph>>(matrix.layout(), y.data(), weights.data(), settings);
    });
}

void require_batches(const Incremental& method, const Indices& rows, std::size_t batch) {
    require_within(rows, method.p.size(), "a row lies outside the matrix");
    require(batch > 0, "a batch needs a row");
}

void subgradient_pass(Incremental& self, Indices rows, double step, std::size_t batch) {
    require_batches(self, rows, batch);
    nb::gil_scoped_release release;
    self.subgradient_pass(rows.data(), rows.shape(0), step, batch);
}

void proximal_pass(Incremental& self, Indices rows, double step, std::size_t batch, double tol) {
    require_batches(self, rows, batch);
    nb::gil_scoped_release release;
    self.proximal_pass(rows.data(), rows.shape(0), step, batch, tol);
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
        .def("subgradient_pass", &subgradient_pass)
        .def("proximal_pass", &proximal_pass, nb::arg(), nb::arg(), nb::arg() = 1, nb::arg() = 0.0)
        .def("move", [](Incremental& self, In w, double radius, double intercept) {
            require(w.shape(0) == self.w.size(), "the vector does not fit the matrix");
            self.w = copied(w);
            self.radius = radius;
            self.intercept = intercept;
        })
        .def("w", [](const Incremental& self) { return as_numpy(self.w); })
        .def("multipliers", [](const Incremental& self) { return std::make_pair(as_numpy(self.p), as_numpy(self.r)); })
        .def_ro("n_updates", &Incremental::n_updates)
        .def_ro("radius", &Incremental::radius)
        .def_ro("intercept", &Incremental::intercept);
    m.def("incremental", &make, nb::keep_alive<0, 1>());
}

}  // namespace skpd
