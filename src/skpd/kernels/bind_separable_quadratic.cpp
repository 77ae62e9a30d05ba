// Python bindings of what a Newton step does with a Gram matrix.
#include "bindings.hpp"
#include "separable_quadratic.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_separable_quadratic(nb::module_& m) {
    using Square = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using OutSquare = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    nb::class_<SupportSystem>(m, "SupportSystem", "Factors of a matrix on one support after another.").def(nb::init<>());
    m.def(
        "minimise_separable",
        [](SupportSystem& system, Square H, Array<const std::int64_t> names, std::size_t n_penalised, double l1, double l2,
           double lower, double upper, Out p, Out r, int sweeps, double tol, int rounds) {
            const std::size_t n = p.shape(0);
            require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n && names.shape(0) == n && n_penalised <= n,
                    "H, names, p and r differ in length");
            nb::gil_scoped_release release;
            system.name(names.data(), n);
            minimise_separable(H.data(), n, n_penalised, SeparablePenalty{l1, l2, lower, upper}, p.data(), r.data(),
                               sweeps, tol, rounds, system);
        },
        "system"_a, "H"_a, "names"_a, "n_penalised"_a, "l1"_a, "l2"_a, "lower"_a, "upper"_a, "p"_a, "r"_a, "sweeps"_a,
        "tol"_a, "rounds"_a,
        "Coordinate descent and Newton steps in turns on a quadratic with gradient r at p; updates both.");
    m.def(
        "active_or_steep",
        [](In w, In gradient, double slope) {
            const std::size_t n = w.shape(0);
            require(gradient.shape(0) == n, "w and gradient differ in length");
            const double *at = w.data(), *slopes = gradient.data();
            std::vector<std::int64_t> out;
            for (std::size_t j = 0; j < n; ++j)
                if ((at[j] != 0.0) | !(std::fabs(slopes[j]) <= slope)) out.push_back(static_cast<std::int64_t>(j));
            return as_numpy(std::move(out));
        },
        "w"_a, "gradient"_a, "slope"_a, "Where w is not 0 or the gradient's magnitude above a slope.");
    m.def(
        "add_to_submatrix",
        [](OutSquare H, Array<const std::int64_t> indices, Square part) {
            const std::size_t n = H.shape(0), k = indices.shape(0);
            require(H.shape(1) == n && part.shape(0) == k && part.shape(1) == k, "H or part has the wrong shape");
            for (std::size_t a = 0; a < k; ++a)
                require(indices.data()[a] >= 0 && indices.data()[a] < static_cast<std::int64_t>(n),
                        "an index lies outside the matrix");
            nb::gil_scoped_release release;
            for (std::size_t a = 0; a < k; ++a) {
                double* row = H.data() + static_cast<std::size_t>(indices.data()[a]) * n;
                for (std::size_t b = 0; b < k; ++b) row[indices.data()[b]] += part.data()[a * k + b];
            }
        },
        "H"_a, "indices"_a, "part"_a, "Adds to the rows and columns of H with these indices.");
}

}  // namespace skpd
