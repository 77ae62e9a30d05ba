// The compiled module, to which each of the binding files adds its functions and classes; _kernels.pyi describes them.
#include "bind/matrix.hpp"

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
void bind_products(nb::module_& m);
void bind_risk_sets(nb::module_& m);
void bind_vectors(nb::module_& m);
nb::class_<Matrix> bind_matrix(nb::module_& m);
// This also adds methods to the matrix.
void bind_coordinates(nb::module_& m, nb::class_<Matrix>& matrix);
}  // namespace skpd

NB_MODULE(_kernels, m) {
    using namespace skpd;
    nb::set_leak_warnings(false);  // what threads and caches hold until the end is no leak
    auto matrix = bind_matrix(m);
    bind_coordinates(m, matrix);
    for (const auto bind : {bind_block_frank_wolfe, bind_chains, bind_column_quadratic, bind_incremental, bind_interior,
                            bind_losses, bind_ordered_pinballs, bind_output_quadratic, bind_products, bind_projections,
                            bind_quadratic, bind_risk_sets, bind_vectors})
        bind(m);
}
