// The Python bindings of the quadratics in a table of coefficients (methods/output_quadratic.hpp has the problem).
#include "bind/matrix.hpp"
#include "methods/output_quadratic.hpp"

namespace skpd {
namespace {

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

double by_matrices(Cube H, In shares, InTable mask, In weights, double l1, double l2, OutTable P, OutTable R,
                   int sweeps, double tol, bool until_settled) {
    const std::size_t m = P.shape(0), K = P.shape(1), blocks = H.shape(2);
    require(have_shape(m, m, H) && (blocks == 1 || blocks == K) && have_shape(m, K, R, mask) &&
                weights.shape(0) <= m && shares.shape(0) == K,
            "H, shares, mask, weights, P and R differ in shape");
    nb::gil_scoped_release release;
    const RowPenalty penalty{weights.data(), weights.shape(0), l1, l2};
    if (blocks > 1) {
        RowsByMatrices rows{H.data(), m, K, shares.data(), mask.data(), R.data()};
        return descend(rows, m, K, penalty, P.data(), sweeps, tol, until_settled);
    }
    std::vector<double> by_outputs(K * m);
    to_outputs(R.data(), m, K, by_outputs.data(), m);
    RowsByOneMatrix rows{H.data(), m, K, shares.data(), mask.data(), by_outputs.data()};
    const double largest = descend(rows, m, K, penalty, P.data(), sweeps, tol, until_settled);
    to_rows(by_outputs.data(), m, m, K, R.data());
    return largest;
}

double by_columns(const Matrix& X, Indices features, bool ones, InTable d, InTable e, InTable diagonal, InTable ridge,
                  InTable G, InTable W, In weights, double l1, double l2, OutTable P, OutTable U, int sweeps,
                  double tol, bool until_settled) {
    const std::size_t m = P.shape(0), K = P.shape(1), n = X.n_rows();
    require(!X.by_row(), "X must be stored by columns");
    require(features.shape(0) + ones == m && weights.shape(0) <= m, "features, weights and P differ in shape");
    require(have_shape(m, K, diagonal, ridge, G, W), "tables of the coefficients differ in shape");
    require(have_shape(n, K, d, e, U), "tables of the rows differ in shape");
    require_within(features, X.n_columns(), "features must lie in the matrix");
    nb::gil_scoped_release release;
    return X.visit([&]<class Columns>(const Columns& columns) {
        RowsByColumns<Columns> rows{{columns, n, K, d.data(), e.data(), U.data()}, features.data(), features.shape(0),
                                    diagonal.data(), ridge.data(), G.data(), W.data()};
        return descend(rows, m, K, {weights.data(), weights.shape(0), l1, l2}, P.data(), sweeps, tol, until_settled);
    });
}

void gram_of_entries(const Matrix& X, InTable d, InTable e, Indices index, Indices ones, OutTable H) {
    const std::size_t K = d.shape(1), m = H.shape(0);
    require(X.by_row() && have_shape(X.n_rows(), K, d, e) && H.shape(1) == m &&
                index.shape(0) == X.n_columns() * K && (ones.shape(0) == 0 || ones.shape(0) == K),
            "X, d, e, the indices and H do not fit each other");
    for (const Indices& indices : {index, ones}) require_within(indices, m, "indices must lie in the matrix", -1);
    nb::gil_scoped_release release;
    X.visit([&](const auto& rows) {
        coupled_gram(rows, K, d.data(), e.data(), index.data(), ones.shape(0) ? ones.data() : nullptr, m, H.data());
    });
}

}  // namespace

void bind_output_quadratic(nb::module_& m) {
    m.def("descend_rows", &by_matrices);
    m.def("descend_outputs", &by_columns);
    m.def("coupled_gram", &gram_of_entries);
}

}  // namespace skpd
