// The layouts of a data matrix, which is dense or sparse and of either precision.
//
// A matrix is a sequence of n_major "major" vectors x_k of n_minor entries: rows for CSR and C order, columns for CSC
// and Fortran order. A layout offers x_k . v for v (n_minor), out += a x_k for out (n_minor), and their compensated and
// bounded variants.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "data/dense_vectors.hpp"
#include "data/compensated.hpp"

namespace skpd {

// Returns whether all of the `count` indices lie in [0, n).
template <class I>
SKPD_CLONES bool all_below(const I* indices, std::size_t count, std::size_t n) {
    using Unsigned = std::make_unsigned_t<I>;
    Unsigned largest = 0;  // a negative index becomes a large one
#pragma omp simd reduction(max : largest)
    for (std::size_t p = 0; p < count; ++p) largest = std::max(largest, static_cast<Unsigned>(indices[p]));
    return count == 0 || largest < n;
}

template <class T>
struct Dense {
    const T* data;
    std::size_t n_major, n_minor;
    std::ptrdiff_t stride;  // the distance of major vectors, in elements

    std::size_t n_entries() const { return n_major * n_minor; }
    // The major vectors first <= k < last, and the entries first <= j < last of each of them.
    Dense majors(std::size_t first, std::size_t last) const { return {major(first), last - first, n_minor, stride}; }
    Dense minors(std::size_t first, std::size_t last) const { return {data + first, n_major, last - first, stride}; }
    // The number of stored entries of x_k, their places and their values.
    std::size_t length(std::size_t) const { return n_minor; }
    std::size_t place(std::size_t, std::size_t q) const { return q; }
    double entry(std::size_t k, std::size_t q) const { return static_cast<double>(major(k)[q]); }
    const T* major(std::size_t k) const { return data + static_cast<std::ptrdiff_t>(k) * stride; }
    Four<T> four(const std::array<std::size_t, together>& k) const {
        return {major(k[0]), major(k[1]), major(k[2]), major(k[3])};
    }

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        const T* x = major(k);
        for (std::size_t j = 0; j < n_minor; ++j) visit(j, static_cast<double>(x[j]));
    }
    // x_k . v as a number, or with the sum of the magnitudes of its terms
    template <class Sum = double>
    Sum dot(std::size_t k, const double* v) const {
        if constexpr (std::is_same_v<Sum, double>) return dense_dot(major(k), v, n_minor);
        else return dense_dot_and_magnitude(major(k), v, n_minor);
    }
    double square(std::size_t k) const { return squared_norm(major(k), n_minor); }
    void axpy(std::size_t k, double a, double* out) const { dense_axpy(a, major(k), out, n_minor); }
    void axpy_and_magnitude(std::size_t k, double a, double* sum, double* magnitude) const {
        dense_axpy_and_magnitude(a, major(k), sum, magnitude, n_minor);
    }
    Compensated dot_compensated(std::size_t k, const double* high, const double* low) const {
        return dense_dot_compensated(major(k), high, low, n_minor);
    }
    void axpy_compensated(std::size_t k, double high, double low, double* sum, double* low_sum, double* size) const {
        dense_axpy_compensated(high, low, major(k), sum, low_sum, size, n_minor);
    }
};

template <class T, class I>
struct Sparse {
    const T* data;
    const I* indices;
    const I* indptr;
    std::size_t n_major, n_minor;

    std::size_t n_entries() const { return static_cast<std::size_t>(indptr[n_major] - indptr[0]); }
    Sparse majors(std::size_t first, std::size_t last) const {
        return {data, indices, indptr + first, last - first, n_minor};
    }
    std::size_t length(std::size_t k) const { return static_cast<std::size_t>(indptr[k + 1] - indptr[k]); }
    std::size_t place(std::size_t k, std::size_t q) const { return static_cast<std::size_t>((indices + indptr[k])[q]); }
    double entry(std::size_t k, std::size_t q) const { return static_cast<double>((data + indptr[k])[q]); }

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p)
            visit(static_cast<std::size_t>(indices[p]), static_cast<double>(data[p]));
    }
    template <class Sum = double>
    Sum dot(std::size_t k, const double* v) const {
        const auto [a, b, c, d] = interleaved_sums<Sum, 4>(indptr[k], indptr[k + 1], [&](Sum& sum, I p) {
            sum += static_cast<double>(data[p]) * v[indices[p]];
        });
        return (a + b) + (c + d);
    }
    double square(std::size_t k) const { return squared_norm(data + indptr[k], length(k)); }
    void axpy(std::size_t k, double a, double* out) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) out[indices[p]] += a * static_cast<double>(data[p]);
    }
    void axpy_and_magnitude(std::size_t k, double a, double* sum, double* magnitude) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) {
            const double product = a * static_cast<double>(data[p]);
            sum[indices[p]] += product;
            magnitude[indices[p]] += std::fabs(product);
        }
    }
    SKPD_CLONES Compensated dot_compensated(std::size_t k, const double* high, const double* low) const {
        auto [even, odd] = interleaved_sums<Compensated, 2>(indptr[k], indptr[k + 1], [&](Compensated& sum, I p) {
            const I j = indices[p];
            add_compensated(static_cast<double>(data[p]), high[j], low[j], sum.high, sum.low, sum.size);
        });
        even.add(odd);
        return even;
    }
    SKPD_CLONES void axpy_compensated(std::size_t k, double high, double low, double* sum, double* low_sum,
                                      double* size) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) {
            const I j = indices[p];
            add_compensated(static_cast<double>(data[p]), high, low, sum[j], low_sum[j], size[j]);
        }
    }
};

template <class M>
constexpr bool is_dense = false;
template <class T>
constexpr bool is_dense<Dense<T>> = true;

using AnyLayout = std::variant<Dense<double>, Dense<float>, Sparse<double, std::int32_t>, Sparse<float, std::int32_t>,
                               Sparse<double, std::int64_t>, Sparse<float, std::int64_t>>;

// The major vectors of a matrix of any layout, for methods that visit them one by one. Each visit branches on the
// layout, so that these methods are compiled once and not once for each layout.
class MajorVectors {
   public:
    MajorVectors(const AnyLayout& layout)
        : n_major(std::visit([](const auto& matrix) { return matrix.n_major; }, layout)),
          n_minor(std::visit([](const auto& matrix) { return matrix.n_minor; }, layout)), layout_(layout) {}

    template <class Visit>
    decltype(auto) visit(Visit visit) const {
        return std::visit(visit, layout_);
    }
    std::size_t n_entries() const {
        return visit([](const auto& matrix) { return matrix.n_entries(); });
    }
    std::size_t length(std::size_t k) const {
        return visit([&](const auto& matrix) { return matrix.length(k); });
    }
    template <class Visit>
    void for_each(std::size_t k, Visit entry) const {
        visit([&](const auto& matrix) { matrix.for_each(k, entry); });
    }
    double dot(std::size_t k, const double* v) const {
        return visit([&](const auto& matrix) { return matrix.dot(k, v); });
    }
    double square(std::size_t k) const {
        return visit([&](const auto& matrix) { return matrix.square(k); });
    }
    void axpy(std::size_t k, double a, double* out) const {
        visit([&](const auto& matrix) { matrix.axpy(k, a, out); });
    }

    const std::size_t n_major, n_minor;

   private:
    const AnyLayout layout_;
};

}  // namespace skpd
