// U_i = (diag(d_i) - e_i e_i') (X V)_i, the curvature of the rows times a change of their predictions, which coordinate
// descent over the rows of V (d, K) keeps up to date; U, d and e (n, K), and X (n, d) stored by columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "data/compensated.hpp"
#include "data/dense_vectors.hpp"
#include "data/layouts.hpp"

namespace skpd {

// y += a x; x and y (K), for few outputs: in groups of four, without a check whether x and y overlap.
SKPD_INLINE void add_multiple(double a, const double* x, double* y, std::size_t K) {
    std::size_t k = 0;
    for (; k + 4 <= K; k += 4) {
        double sums[4];
        for (std::size_t q = 0; q < 4; ++q) sums[q] = y[k + q] + a * x[k + q];
        for (std::size_t q = 0; q < 4; ++q) y[k + q] = sums[q];
    }
    for (; k < K; ++k) y[k] += a * x[k];
}

// e . x; e and x (K), in four sums that do not wait for each other.
SKPD_INLINE double product_of_outputs(const double* e, const double* x, std::size_t K) {
    const auto [a, b, c, d] =
        interleaved_sums<double, 4>(std::size_t{0}, K, [&](double& sum, std::size_t k) { sum += e[k] * x[k]; });
    return (a + b) + (c + d);
}

// The responses U of sparse columns, which have entries in few rows: tables are stored by rows (n, K).
template <class M>
struct Responses {
    const M& columns;
    std::size_t n, K;
    const double *d, *e;
    double* U;

    template <class Visit>
    void visit(std::size_t j, bool is_ones, Visit act) const {
        if (is_ones)
            for (std::size_t i = 0; i < n; ++i) act(i, 1.0);
        else
            columns.for_each(j, act);
    }
    // sums += x_j' U; sums (K)
    void add_products(std::size_t j, bool is_ones, double* sums) const {
        visit(j, is_ones, [&](std::size_t i, double x) { add_multiple(x, U + i * K, sums, K); });
    }
    // U_i += x_ij (diag(d_i) - e_i e_i') by, after row j of V has changed by `by` (K)
    void change(std::size_t j, bool is_ones, const double* by) const {
        visit(j, is_ones, [&](std::size_t i, double x) {
            const double *di = d + i * K, *ei = e + i * K;
            const double along = product_of_outputs(ei, by, K);
            double* u = U + i * K;
            for (std::size_t k = 0; k < K; ++k) u[k] += x * (di[k] * by[k] - ei[k] * along);
        });
    }
};

// sums_k += x . u_k for k < K, four at a time; x and u_k (n), U (K, n)
template <class T>
SKPD_CLONES void add_dots(std::size_t n, std::size_t K, const T* x, const double* U, double* sums) {
    std::size_t k = 0;
    for (; k + together <= K; k += together) {
        const double* u = U + k * n;
        double products[together];
        dense_dots(Four<double>{u, u + n, u + 2 * n, u + 3 * n}, x, n, products);
        for (std::size_t q = 0; q < together; ++q) sums[k + q] += products[q];
    }
    for (; k < K; ++k) sums[k] += dense_dot(x, U + k * n, n);
}

// out_i = x_i d_i for n rows
template <class T>
SKPD_CLONES void multiply(std::size_t n, const T* x, const double* d, double* out) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] * d[i];
}

// u_i += x_i (a d_i - e_i along_i) for n rows
template <class T>
SKPD_CLONES void add_coupled(std::size_t n, const T* x, double a, const double* d, const double* e, const double* along,
                             double* u) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) u[i] += x[i] * (a * d[i] - e[i] * along[i]);
}

// out[k stride + i] = table[i K + k], and back
inline void to_outputs(const double* table, std::size_t n, std::size_t K, double* out, std::size_t stride) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < K; ++k) out[k * stride + i] = table[i * K + k];
}
inline void to_rows(const double* vectors, std::size_t stride, std::size_t n, std::size_t K, double* table) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < K; ++k) table[i * K + k] = vectors[k * stride + i];
}

// The responses U of dense columns: tables are stored by outputs (K, n), so that all loops are long; U is written back
// by the destructor.
template <class T>
class Responses<Dense<T>> {
public:
    const std::size_t K;

    Responses(const Dense<T>& columns, std::size_t n, std::size_t K, const double* d, const double* e, double* U)
        : K(K), columns_(columns), n_(n), table_(U), d_(by_output(d)), e_(by_output(e)), U_(by_output(U)),
          ones_(n, T(1)), product_(n) {
        const auto same = [&](std::size_t k) { return std::equal(d_.begin(), d_.begin() + n, d_.begin() + k * n); };
        for (std::size_t k = 1; k < K; ++k) agree_ = agree_ && same(k);
        coupled_ = std::any_of(e_.begin(), e_.end(), [](double value) { return value != 0.0; });
    }
    Responses(const Responses&) = delete;
    Responses& operator=(const Responses&) = delete;
    ~Responses() {
        to_rows(U_.data(), n_, n_, K, table_);
    }

    void add_products(std::size_t j, bool is_ones, double* sums) const {
        add_dots(n_, K, column(j, is_ones), U_.data(), sums);
    }
    void change(std::size_t j, bool is_ones, const double* by) {
        const T* x = column(j, is_ones);
        double* product = product_.data();
        if (coupled_) {
            std::fill(product_.begin(), product_.end(), 0.0);
            for (std::size_t k = 0; k < K; ++k) dense_axpy(by[k], e_.data() + k * n_, product, n_);
            for (std::size_t k = 0; k < K; ++k)
                add_coupled(n_, x, by[k], d_.data() + k * n_, e_.data() + k * n_, product, U_.data() + k * n_);
            return;
        }
        for (std::size_t k = 0; k < K; ++k) {
            if (k == 0 || !agree_) multiply(n_, x, d_.data() + k * n_, product);
            if (by[k] != 0.0) dense_axpy(by[k], product, U_.data() + k * n_, n_);
        }
    }

private:
    const T* column(std::size_t j, bool is_ones) const { return is_ones ? ones_.data() : columns_.major(j); }
    std::vector<double> by_output(const double* table) const {
        std::vector<double> out(n_ * K);
        to_outputs(table, n_, K, out.data(), n_);
        return out;
    }

    const Dense<T>& columns_;
    std::size_t n_;
    double* table_;
    std::vector<double> d_, e_, U_;
    std::vector<T> ones_;
    std::vector<double> product_;  // x d, or sum_k e_k by_k
    bool agree_ = true, coupled_ = false;
};

}  // namespace skpd
