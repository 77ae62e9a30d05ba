// Z = X V and G += X'U for a dense X (n, d) that is stored by columns and tables V (d, K), Z and U (n, K) with a column
// for each output, by blocks of rows that stay in the cache. BLAS would copy X first, which costs more than the
// products with few outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

// z += sum_k v_k x_k, y += sum_k w_k x_k for k < 4; x_k, z and y (n): four columns of X and the predictions of two
// outputs
template <class T>
SKPD_CLONES void add_predictions(std::size_t n, const Four<T>& x, const double* v, const double* w, double* z,
                                 double* y) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3], w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double ai = a[i], bi = b[i], ci = c[i], di = d[i];
        z[i] += (v0 * ai + v1 * bi) + (v2 * ci + v3 * di);
        y[i] += (w0 * ai + w1 * bi) + (w2 * ci + w3 * di);
    }
}

// out_u[k] += x_k . u, out_t[k] += x_k . t for k < 4; x_k, u and t (n)
template <class T>
SKPD_CLONES void add_inner_products(std::size_t n, const Four<T>& x, const double* u, const double* t, double* out_u,
                                    double* out_t) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double au = 0.0, bu = 0.0, cu = 0.0, du = 0.0, at = 0.0, bt = 0.0, ct = 0.0, dt = 0.0;
#pragma omp simd reduction(+ : au, bu, cu, du, at, bt, ct, dt)
    for (std::size_t i = 0; i < n; ++i) {
        const double ai = a[i], bi = b[i], ci = c[i], di = d[i], ui = u[i], ti = t[i];
        au += ai * ui;
        bu += bi * ui;
        cu += ci * ui;
        du += di * ui;
        at += ai * ti;
        bt += bi * ti;
        ct += ci * ti;
        dt += di * ti;
    }
    const double of_u[together] = {au, bu, cu, du}, of_t[together] = {at, bt, ct, dt};
    for (std::size_t k = 0; k < together; ++k) {
        out_u[k] += of_u[k];
        out_t[k] += of_t[k];
    }
}

// A block of rows of selected columns of X, followed by a column of ones if `ones` is set. Tables are stored by
// outputs, with a last output of zeros if K is odd, and columns come in fours, the last of which may be zeros.
template <class T>
class OutputBlock {
   public:
    OutputBlock(const Dense<T>& X, const std::int64_t* features, std::size_t n_features, bool ones, std::size_t K)
        : X_(X), features_(features), n_features_(n_features), ones_(ones), K_(K),
          length_(length_for(n_features + ones)), zeros_(length_, T(0)), column_of_ones_(ones ? length_ : 0, T(1)),
          at_((n_features + ones + together - 1) / together * together) {}

    std::size_t length() const { return length_; }  // the largest number of rows of a block
    std::size_t n_outputs() const { return (K_ + 1) / 2 * 2; }  // K rounded up to an even number
    std::size_t n_columns() const { return at_.size(); }

    void move_to(std::size_t first, std::size_t count) {
        count_ = count;
        std::fill(at_.begin(), at_.end(), zeros_.data());
        for (std::size_t a = 0; a < n_features_; ++a) at_[a] = X_.major(static_cast<std::size_t>(features_[a])) + first;
        if (ones_) at_[n_features_] = column_of_ones_.data();
    }
    // z = X V; V (n_outputs, n_columns) and z (n_outputs, length) are stored by outputs.
    void predictions(const double* V, double* z) const {
        std::fill_n(z, n_outputs() * length_, 0.0);
        for (std::size_t a = 0; a < at_.size(); a += together)
            for (std::size_t k = 0; k < n_outputs(); k += 2)
                add_predictions(count_, four(a), V + k * at_.size() + a, V + (k + 1) * at_.size() + a, z + k * length_,
                                z + (k + 1) * length_);
    }
    // out += X'u; u (n_outputs, length), out (n_outputs, n_columns)
    void add_products(const double* u, double* out) const {
        for (std::size_t a = 0; a < at_.size(); a += together)
            for (std::size_t k = 0; k < n_outputs(); k += 2)
                add_inner_products(count_, four(a), u + k * length_, u + (k + 1) * length_, out + k * at_.size() + a,
                                   out + (k + 1) * at_.size() + a);
    }

   private:
    static std::size_t length_for(std::size_t n_columns) {
        // 1 MB is half of a cache
        constexpr std::size_t entries = std::size_t{1} << 17, min_length = 64, max_length = 512;
        const std::size_t length = entries / std::max<std::size_t>(n_columns, 1) / min_length * min_length;
        return std::clamp(length, min_length, max_length);
    }
    Four<T> four(std::size_t a) const { return {at_[a], at_[a + 1], at_[a + 2], at_[a + 3]}; }

    const Dense<T>& X_;
    const std::int64_t* features_;
    std::size_t n_features_;
    bool ones_;
    std::size_t K_, length_, count_ = 0;
    std::vector<T> zeros_, column_of_ones_;
    std::vector<const T*> at_;
};

// out[k stride + i] = table[i K + k], and back
inline void to_outputs(const double* table, std::size_t n, std::size_t K, double* out, std::size_t stride) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < K; ++k) out[k * stride + i] = table[i * K + k];
}
inline void to_rows(const double* vectors, std::size_t stride, std::size_t n, std::size_t K, double* table) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < K; ++k) table[i * K + k] = vectors[k * stride + i];
}

}  // namespace skpd
