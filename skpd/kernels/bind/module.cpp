// The compiled module, to which each of the binding files adds its functions and classes.
#include <nanobind/nanobind.h>

#include "bind/matrix.hpp"

namespace nb = nanobind;

namespace skpd {
void bind_block_frank_wolfe(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_column_quadratic(nb::module_& m);
void bind_incremental(nb::module_& m);
void bind_interior(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_ordered_pinballs(nb::module_& m);
void bind_output_quadratic(nb::module_& m);
void bind_projections(nb::module_& m);
void bind_quadratic(nb::module_& m);
void bind_risk_sets(nb::module_& m);
void bind_vectors(nb::module_& m);
nb::class_<Matrix> bind_matrix(nb::module_& m);
// These also add methods to the matrix.
void bind_coordinates(nb::module_& m, nb::class_<Matrix>& matrix);
void bind_products(nb::module_& m, nb::class_<Matrix>& matrix);
}  // namespace skpd

NB_MODULE(_kernels, m) {
    using namespace skpd;
    m.doc() =
        "The compiled kernels of skpd are products with the data, passes over the rows, projections and methods.";
    bind_losses(m);
    auto matrix = bind_matrix(m);
    bind_products(m, matrix);
    bind_coordinates(m, matrix);
    bind_block_frank_wolfe(m);
    bind_chains(m);
    bind_column_quadratic(m);
    bind_incremental(m);
    bind_interior(m);
    bind_ordered_pinballs(m);
    bind_output_quadratic(m);
    bind_projections(m);
    bind_quadratic(m);
    bind_risk_sets(m);
    bind_vectors(m);
}
