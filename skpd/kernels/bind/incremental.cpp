// The Python bindings of the epigraph projections and of the incremental methods (maths/epigraph.hpp and
// published/incremental.hpp have the formulas).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <type_traits>

#include "bind/matrix.hpp"
#include "maths/epigraph.hpp"
#include "published/incremental.hpp"

using namespace nanobind::literals;

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
    return with_epigraph(norm, [&](auto epigraph) -> std::unique_ptr<Incremental> {
        return std::make_unique<IncrementalOn<decltype(epigraph)>>(matrix.layout(), y.data(), weights.data(), settings);
    });
}

void check(const Incremental& method, const Indices& rows) {
    require_within(rows, method.p.size(), "a row lies outside the matrix");
}

}  // namespace

void bind_incremental(nb::module_& m) {
    // The norm is 1, 2 or inf; point and w (d).
    m.def(
        "project_epigraph",
        [](In point, double radius, double norm, double aperture) {
            std::vector<double> w(point.data(), point.data() + point.shape(0));
            const double lam = with_epigraph(norm, [&](auto epigraph) {
                return decltype(epigraph)::project(w.data(), w.size(), radius, aperture);
            });
            return std::make_pair(as_numpy(std::move(w)), lam);
        },
        "point"_a, "radius"_a, "norm"_a, "aperture"_a = 1.0,
        "Projects (point, radius) onto {(w, lam): ||w|| <= aperture lam}; returns w (d) and lam.");
    nb::class_<Incremental>(m, "Incremental",
        "Incremental methods for the distributionally robust SVM, with their iterate.")
        .def(
            "subgradient_pass",
            [](Incremental& self, Indices rows, double step, std::size_t batch) {
                check(self, rows);
                require(batch > 0, "a batch needs a row");
                nb::gil_scoped_release release;
                self.subgradient_pass(rows.data(), rows.shape(0), step, batch);
            },
            "rows"_a, "step"_a, "batch"_a,
            "Takes projected subgradient steps for mini-batches of these rows; rows (m) holds indices.")
        .def(
            "proximal_pass",
            [](Incremental& self, Indices rows, double step, std::size_t batch, double tol) {
                check(self, rows);
                require(batch > 0, "a batch needs a row");
                nb::gil_scoped_release release;
                self.proximal_pass(rows.data(), rows.shape(0), step, batch, tol);
            },
            "rows"_a, "step"_a, "batch"_a = 1, "tol"_a = 0.0,
            "Takes proximal updates of the means of mini-batches of these rows, until no multiplier changes by more\n"
            "than tol in a sweep; rows (m) holds indices.")
        .def(
            "move",
            [](Incremental& self, In w, double radius, double intercept) {
                require(w.shape(0) == self.w.size(), "the vector does not fit the matrix");
                self.w.assign(w.data(), w.data() + w.shape(0));
                self.radius = radius;
                self.intercept = intercept;
            },
            "w"_a, "radius"_a, "intercept"_a, "Sets the iterate to w (d), the radius and the intercept.")
        .def("w", [](const Incremental& self) { return as_numpy(self.w); }, "Returns the coefficients w (d).")
        .def(
            "multipliers",
            [](const Incremental& self) { return std::make_pair(as_numpy(self.p), as_numpy(self.r)); },
            "Returns the multipliers p and r (n) of each row at its last visit.")
        .def_ro("n_updates", &Incremental::n_updates, "The number of proximal updates of single rows.")
        .def_ro("radius", &Incremental::radius, "The radius lam >= ||w||.")
        .def_ro("intercept", &Incremental::intercept, "The intercept b.");
    m.def("incremental", &make, "matrix"_a, "y"_a, "weights"_a, "norm"_a, "epsilon"_a, "kappa"_a, "ridge"_a,
          "fit_intercept"_a, nb::keep_alive<0, 1>(),
          "Makes an `Incremental` that starts at w = 0, on a matrix (n, d) stored by rows; y and weights (n).");
}

}  // namespace skpd
