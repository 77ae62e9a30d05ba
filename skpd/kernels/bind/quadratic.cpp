// Python bindings of the coordinate descents on a quadratic given by its matrix.
#include <cstddef>
#include <cstdint>

#include "bind/arrays.hpp"
#include "methods/quadratic.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

using Indices = Array<const std::int64_t>;

void require_indices(Indices indices, std::size_t n) {
    for (std::size_t a = 0; a < indices.shape(0); ++a)
        require(indices.data()[a] >= 0 && indices.data()[a] < static_cast<std::int64_t>(n),
                "an index lies outside the matrix");
}

double sweep_coordinates(InTable H, std::size_t n_penalised, const SeparableTerms& terms, Out p,
                         Out r, int sweeps, double tol) {
    const std::size_t n = p.shape(0);
    require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n && n_penalised <= n &&
                terms.fit(n_penalised),
            "H, terms, p and r differ in length");
    nb::gil_scoped_release release;
    return coordinate_descent(H.data(), n, n_penalised, terms, p.data(), r.data(), sweeps, tol);
}

void move_support(InTable H, std::size_t n_penalised, const SeparableTerms& terms, Indices support, In step,
                  Out p, Out r) {
    const std::size_t n = p.shape(0), k = support.shape(0);
    require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n && n_penalised <= n && step.shape(0) == k &&
                terms.fit(n_penalised),
            "H, terms, p, r and step differ in length");
    require_indices(support, n);
    nb::gil_scoped_release release;
    step_on_support(H.data(), n, n_penalised, terms, support.data(), k, step.data(), p.data(), r.data());
}

double sweep_blocks(InTable H, Indices starts, In weights, double l1, Out p, Out r, int sweeps, double tol) {
    const std::size_t n = p.shape(0), n_groups = weights.shape(0);
    require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n, "H, p and r differ in length");
    require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
    for (std::size_t g = 0; g < n_groups; ++g)
        require(starts.data()[g] >= 0 && starts.data()[g] <= starts.data()[g + 1] &&
                    starts.data()[g + 1] <= static_cast<std::int64_t>(n),
                "starts must increase up to the length of p");
    nb::gil_scoped_release release;
    return block_coordinate_descent(H.data(), n, starts.data(), n_groups, weights.data(), l1, p.data(), r.data(),
                                    sweeps, tol);
}

void principal_submatrix(InTable H, Indices indices, OutTable out) {
    const std::size_t n = H.shape(0), k = indices.shape(0);
    require(H.shape(1) == n && out.shape(0) == k && out.shape(1) == k, "H or out has the wrong shape");
    require_indices(indices, n);
    nb::gil_scoped_release release;
    for (std::size_t a = 0; a < k; ++a) {
        const double* row = H.data() + static_cast<std::size_t>(indices.data()[a]) * n;
        for (std::size_t b = 0; b < k; ++b) out.data()[a * k + b] = row[indices.data()[b]];
    }
}

}  // namespace

void bind_quadratic(nb::module_& m) {
    m.def("coordinate_descent", &sweep_coordinates, "H"_a, "n_penalised"_a, "terms"_a,
          "p"_a, "r"_a, "sweeps"_a, "tol"_a,
          "Coordinate descent on a quadratic with gradient r at p; updates both, returns the last largest change.");
    m.def("step_on_support", &move_support, "H"_a, "n_penalised"_a, "terms"_a,
          "support"_a, "step"_a, "p"_a, "r"_a,
          "A step of the support's coordinates that lowers a quadratic with gradient r at p; updates both.");
    m.def("block_coordinate_descent", &sweep_blocks, "H"_a, "starts"_a, "weights"_a, "l1"_a, "p"_a, "r"_a,
          "sweeps"_a, "tol"_a,
          "Block coordinate descent on a quadratic with gradient r at p; updates both, returns the last largest "
          "change.");
    m.def("principal_submatrix", &principal_submatrix, "H"_a, "indices"_a, "out"_a,
          "The rows and columns of H with these indices.");
}

}  // namespace skpd
