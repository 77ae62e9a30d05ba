// Coordinate descent over the rows p_j of a table P (m, K) on the penalised quadratic
//
//   minimise over P   <G, P - W> + <P - W, H (P - W)> / 2
//                     + sum_j (weight_j ||p_j||_2 + l1 ||p_j||_1 + l2 ||p_j||^2 / 2).
//
// P has a row for each feature and a column for each output; the rows behind the penalised ones have no penalty.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/compensated.hpp"
#include "data/products.hpp"
#include "maths/losses.hpp"
#include "methods/hessian_products.hpp"

namespace skpd {

// The penalty weights_j ||x||_2 + l1 ||x||_1 + l2 ||x||^2 / 2 on row j, and its minimiser for diagonal curvatures.
struct RowPenalty {
    const double* weights;  // the weights of the Euclidean norms of the rows (n_penalised)
    std::size_t n_penalised;
    double l1, l2;

    // q <- argmin over x of sum_k L_k (x_k - q_k)^2 / 2 + the penalty of row j; L and q (K). Entries with L_k + l2 = 0
    // remain.
    void minimise(std::size_t j, const double* L, std::size_t K, double* q) const {
        if (j >= n_penalised) return;
        const double weight = weights[j];
        double square = 0.0, min_curvature = 0.0, max_curvature = 0.0;
        for (std::size_t k = 0; k < K; ++k) {
            const double v = L[k] * q[k];
            q[k] = v - clip(v, -l1, l1);
            square += q[k] * q[k];
            const double curvature = L[k] + l2;
            min_curvature = k == 0 ? curvature : std::min(min_curvature, curvature);
            max_curvature = std::max(max_curvature, curvature);
        }
        const double size = std::sqrt(square);
        if (size <= weight) {
            std::fill_n(q, K, 0.0);
            return;
        }
        if (weight == 0.0) {
            for (std::size_t k = 0; k < K; ++k) q[k] = L[k] + l2 > 0.0 ? q[k] / (L[k] + l2) : 0.0;
            return;
        }
        // x_k = v_k / (L_k + l2 + weight / s) with s = ||x||, the root of sum (v_k / ((L_k + l2) s + weight))^2 = 1.
        // The sum is convex and decreases in s, so that Newton's method from the left increases s up to the root.
        double s = (size - weight) / max_curvature;
        if (max_curvature > min_curvature) {
            for (int step = 0; step < 50; ++step) {
                double value = 0.0, slope = 0.0;
                for (std::size_t k = 0; k < K; ++k) {
                    const double below = (L[k] + l2) * s + weight, ratio = q[k] / below;
                    value += ratio * ratio;
                    slope += ratio * ratio * (L[k] + l2) / below;
                }
                // This is the Newton step of 1 / sqrt(value), which is nearly linear.
                const double next = s + (std::sqrt(value) - 1.0) * value / slope;
                if (!(next > s * (1.0 + 1e-15))) break;
                s = next;
            }
        }
        for (std::size_t k = 0; k < K; ++k) q[k] *= s / ((L[k] + l2) * s + weight);
    }
};

// The same matrix H (m, m) of the features for all outputs, times the shares (K) of the outputs. R (K, m), the gradient
// at P by outputs, is kept up to date: sums over the features are longer vectors than those over a few outputs.
// Entries of P whose mask (m, K) is 0 remain 0.
struct RowsByOneMatrix {
    const double* H;
    std::size_t m, K;
    const double *shares, *mask;
    double* R;

    // L = the diagonal curvatures and r = the gradient of row j; L and r (K).
    void look(std::size_t j, const double*, double* L, double* r) const {
        for (std::size_t k = 0; k < K; ++k) {
            L[k] = H[j * m + j] * shares[k] * mask[j * K + k];
            r[k] = R[k * m + j];
        }
    }
    // R += H times a change (K) of row j.
    SKPD_CLONES void take(std::size_t j, const double* change) const {
        const double* row = H + j * m;
        for (std::size_t k = 0; k < K; ++k) {
            const double scale = change[k] * shares[k];
            double* of_output = R + k * m;
            if (scale == 0.0) continue;
#pragma omp simd
            for (std::size_t i = 0; i < m; ++i) of_output[i] += scale * row[i];
        }
    }
};

// A matrix of the features for each output, with entry (i, j, k) of H (m, m, K); R (m, K) is the gradient at P. Entries
// of P whose mask (m, K) is 0 remain 0.
struct RowsByMatrices {
    const double* H;
    std::size_t m, K;
    const double *shares, *mask;
    double* R;
    std::vector<double> repeated = std::vector<double>(n_repeated * K);  // the change of a row
    static constexpr std::size_t n_repeated = 16;

    void look(std::size_t j, const double*, double* L, double* r) const {
        const double* diagonal = H + (j * m + j) * K;
        for (std::size_t k = 0; k < K; ++k) L[k] = diagonal[k] * shares[k] * mask[j * K + k];
        std::copy_n(R + j * K, K, r);
    }
    void take(std::size_t j, const double* change) {
        for (std::size_t i = 0; i < n_repeated; ++i)
            for (std::size_t k = 0; k < K; ++k) repeated[i * K + k] = change[k] * shares[k];
        add_products(H + j * m * K, repeated.data(), repeated.size(), m * K, R);
    }
    // R_i += row_i repeated_(i mod length) for n entries
    SKPD_CLONES static void add_products(const double* row, const double* repeated, std::size_t length, std::size_t n,
                                         double* R) {
        for (std::size_t first = 0; first < n; first += length) {
            const std::size_t count = std::min(length, n - first);
#pragma omp simd
            for (std::size_t i = 0; i < count; ++i) R[first + i] += row[first + i] * repeated[i];
        }
    }
};

// H = sum_i x_i x_i' (x) (diag(d_i) - e_i e_i') + diag(ridge), where (x) is the Kronecker product, by the columns of X.
// `features` are the columns that the rows of P belong to, and a column of ones may be the last one. The responses hold
//   U_i = (diag(d_i) - e_i e_i') (X (P - W))_i,
// and the diagonal majorises the curvature of a row; diagonal, ridge, G and W (m, K).
template <class M>
struct RowsByColumns {
    Responses<M> responses;
    const std::int64_t* features;
    std::size_t n_features;
    const double *diagonal, *ridge, *G, *W;

    void look(std::size_t j, const double* p, double* L, double* r) const {
        const std::size_t K = responses.K, first = j * K;
        for (std::size_t k = 0; k < K; ++k) {
            L[k] = diagonal[first + k] + ridge[first + k];
            r[k] = G[first + k] + ridge[first + k] * (p[k] - W[first + k]);
        }
        responses.add_products(column(j), j == n_features, r);
    }
    void take(std::size_t j, double* change) { responses.change(column(j), j == n_features, change); }
    std::size_t column(std::size_t j) const { return j == n_features ? 0 : static_cast<std::size_t>(features[j]); }
};

// Sweeps over the m rows of P, until gradients change by at most tol; with `until_settled` also until a sweep leaves the
// set of non-zero rows as it was. Returns the largest change of a gradient in the last sweep.
template <class Rows>
double descend(Rows& rows, std::size_t m, std::size_t K, const RowPenalty& penalty, double* P, int sweeps, double tol,
               bool until_settled) {
    double largest = 0.0;
    std::vector<double> L(K), x(K), r(K);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        largest = 0.0;
        bool settled = true;
        for (std::size_t j = 0; j < m; ++j) {
            double* p = P + j * K;
            rows.look(j, p, L.data(), r.data());
            bool was = false, is = false, any = false;
            for (std::size_t k = 0; k < K; ++k) {
                x[k] = L[k] > 0.0 ? p[k] - r[k] / L[k] : p[k];
                was |= p[k] != 0.0;
                any |= L[k] > 0.0;
            }
            if (!any) continue;
            penalty.minimise(j, L.data(), K, x.data());
            double moved = 0.0;
            for (std::size_t k = 0; k < K; ++k) {
                const double change = x[k] - p[k];
                moved = std::max(moved, std::fabs(change) * L[k]);
                p[k] = x[k];
                x[k] = change;
                is |= p[k] != 0.0;
            }
            settled &= was == is;
            if (moved == 0.0) continue;
            largest = std::max(largest, moved);
            rows.take(j, x.data());
        }
        if (largest <= tol || (until_settled && settled)) break;
    }
    return largest;
}

// H[a, b] = sum_i x_ij x_il (d_ik [k = q] - e_ik e_iq) for the entries a = place[j K + k] and b = place[l K + q] of the
// coefficients, for rows of X stored by rows; H (m, m), d and e (n_rows, K). A place is -1 for entries that are left
// out, and ones[k] is the place of the intercept of output k. The lower triangle is filled and mirrored.
template <class M>
void coupled_gram(const M& rows, std::size_t K, const double* d, const double* e, const std::int64_t* place,
                  const std::int64_t* ones, std::size_t m, double* H) {
    struct Entry {
        std::size_t at, output;
        double value, scaled;
    };
    std::vector<Entry> entries;
    std::fill_n(H, m * m, 0.0);
    for (std::size_t i = 0; i < rows.n_major; ++i) {
        const double *di = d + i * K, *ei = e + i * K;
        entries.clear();
        const auto add = [&](std::int64_t at, std::size_t k, double value) {
            if (at >= 0) entries.push_back({static_cast<std::size_t>(at), k, value, value * ei[k]});
        };
        rows.for_each(i, [&](std::size_t j, double value) {
            if (value == 0.0) return;
            for (std::size_t k = 0; k < K; ++k) add(place[j * K + k], k, value);
        });
        if (ones != nullptr)
            for (std::size_t k = 0; k < K; ++k) add(ones[k], k, 1.0);
        for (const Entry& a : entries) {
            double* row = H + a.at * m;
            for (const Entry& b : entries) {
                if (b.at > a.at) continue;
                row[b.at] -= a.scaled * b.scaled;
                if (a.output == b.output) row[b.at] += a.value * b.value * di[a.output];
            }
        }
    }
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < a; ++b) H[b * m + a] = H[a * m + b];
}

}  // namespace skpd
