// The four element layouts of a data matrix and the two loops over them.
//
// A matrix is a sequence of "major" vectors: rows for CSR and C order, columns for
// CSC and Fortran order. Every product is then either a gather (one inner product
// for each major vector) or a scatter (a linear combination of the major vectors),
// so that one loop each serves all layouts, both products and both precisions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "data/compensated.hpp"

namespace skpd {

// What a product does with an entry of the matrix.
struct Identity {
    static double of(double x) { return x; }
};
struct Absolute {
    static double of(double x) { return std::fabs(x); }
};
struct Square {
    static double of(double x) { return x * x; }
};

// Asks for the numbers of one dense vector while another is read: processors foresee no further
// than the end of a vector which comes next.
template <class T>
struct Ahead {
    const T* next;

    void operator()(std::size_t j, std::size_t count) const {
#if defined(__GNUC__)
        constexpr std::size_t line = 64 / sizeof(T);
        for (std::size_t k = 0; k < count; k += line) __builtin_prefetch(next + j + k);
#endif
    }
};
// of its beginning, if it is long
template <class T>
void ask_for(const T* x, std::size_t n) {
    constexpr std::size_t most = std::size_t{1} << 14;  // bytes
    Ahead{x}(0, std::min(n, most / sizeof(T)));
}
struct NothingAhead {
    void operator()(std::size_t, std::size_t) const {}
};

template <class T, class Next = NothingAhead>
SKPD_CLONES double dense_dot(const T* x, const double* v, std::size_t n, Next ask_for = {}) {
    constexpr std::size_t lanes = 32;  // several vectors, so that their additions overlap
    double sums[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        ask_for(j, lanes);
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += static_cast<double>(x[j + k]) * v[j + k];
    }
    double sum = 0.0;
    for (; j < n; ++j) sum += static_cast<double>(x[j]) * v[j];
    for (std::size_t k = 0; k < lanes; ++k) sum += sums[k];
    return sum;
}
// The same of a vector before that of another
template <class T>
double dense_dot(const T* x, const double* v, std::size_t n, const T* next) {
    constexpr std::size_t most = std::size_t{1} << 16;  // bytes that wait in the cache
    return n * sizeof(T) <= most ? dense_dot(x, v, n, Ahead{next}) : dense_dot(x, v, n);
}
template <class T>
SKPD_CLONES double squared_norm(const T* x, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    return sum;
}
SKPD_CLONES inline void dense_axpy(double a, const double* x, double* out, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] += a * x[j];
}
SKPD_CLONES inline void dense_axpy(double a, const float* x, double* out, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] += a * static_cast<double>(x[j]);
}

// The same for four vectors x at once: v or out is read a quarter of the times, and memory has
// four streams to bring at a time.
constexpr std::size_t together = 4;
template <class T>
using Four = std::array<const T*, together>;

template <class T>
SKPD_CLONES void dense_dots(const Four<T>& x, const double* v, std::size_t n, double* out) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double sum_a = 0.0, sum_b = 0.0, sum_c = 0.0, sum_d = 0.0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d)
    for (std::size_t j = 0; j < n; ++j) {
        sum_a += static_cast<double>(a[j]) * v[j];
        sum_b += static_cast<double>(b[j]) * v[j];
        sum_c += static_cast<double>(c[j]) * v[j];
        sum_d += static_cast<double>(d[j]) * v[j];
    }
    out[0] = sum_a;
    out[1] = sum_b;
    out[2] = sum_c;
    out[3] = sum_d;
}
template <class T>
SKPD_CLONES void dense_axpys(const std::array<double, together>& v, const Four<T>& x, double* out, std::size_t n) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v_a = v[0], v_b = v[1], v_c = v[2], v_d = v[3];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j)
        out[j] += (v_a * static_cast<double>(a[j]) + v_b * static_cast<double>(b[j])) +
                  (v_c * static_cast<double>(c[j]) + v_d * static_cast<double>(d[j]));
}

// A sum of terms beside that of their magnitudes
struct Sized {
    double sum = 0.0, size = 0.0;
};
template <class T>
SKPD_CLONES Sized dense_dot_sized(const T* x, const double* v, std::size_t n) {
    double sum = 0.0, size = 0.0;
#pragma omp simd reduction(+ : sum, size)
    for (std::size_t j = 0; j < n; ++j) {
        const double product = static_cast<double>(x[j]) * v[j];
        sum += product;
        size += std::fabs(product);
    }
    return {sum, size};
}
template <class T>
SKPD_CLONES void dense_dots_sized(const Four<T>& x, const double* v, std::size_t n, Sized* out) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double sum_a = 0.0, sum_b = 0.0, sum_c = 0.0, sum_d = 0.0;
    double size_a = 0.0, size_b = 0.0, size_c = 0.0, size_d = 0.0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d, size_a, size_b, size_c, size_d)
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = static_cast<double>(a[j]) * v[j], in_b = static_cast<double>(b[j]) * v[j];
        const double in_c = static_cast<double>(c[j]) * v[j], in_d = static_cast<double>(d[j]) * v[j];
        sum_a += in_a;
        sum_b += in_b;
        sum_c += in_c;
        sum_d += in_d;
        size_a += std::fabs(in_a);
        size_b += std::fabs(in_b);
        size_c += std::fabs(in_c);
        size_d += std::fabs(in_d);
    }
    out[0] = {sum_a, size_a};
    out[1] = {sum_b, size_b};
    out[2] = {sum_c, size_c};
    out[3] = {sum_d, size_d};
}
template <class T>
SKPD_CLONES void dense_axpy_sized(double a, const T* x, double* sum, double* size, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double product = a * static_cast<double>(x[j]);
        sum[j] += product;
        size[j] += std::fabs(product);
    }
}

template <class T>
SKPD_CLONES void dense_axpys_sized(const std::array<double, together>& v, const Four<T>& x, double* sum, double* size, std::size_t n) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double v_a = v[0], v_b = v[1], v_c = v[2], v_d = v[3];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        const double in_a = v_a * static_cast<double>(a[j]), in_b = v_b * static_cast<double>(b[j]);
        const double in_c = v_c * static_cast<double>(c[j]), in_d = v_d * static_cast<double>(d[j]);
        sum[j] += (in_a + in_b) + (in_c + in_d);
        size[j] += (std::fabs(in_a) + std::fabs(in_b)) + (std::fabs(in_c) + std::fabs(in_d));
    }
}

// sum_j x_j (high_j + low_j) in twice the working precision, in lanes that a processor
// takes as one vector.
template <class T>
SKPD_CLONES Compensated dense_dot_compensated(const T* x, const double* high, const double* low, std::size_t n) {
    constexpr std::size_t lanes = 8;
    double sum[lanes] = {}, rest[lanes] = {}, size[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            const double a = static_cast<double>(x[j + k]), product = a * high[j + k];
            const double next = sum[k] + product, tail = next - sum[k];
            rest[k] += (sum[k] - (next - tail)) + (product - tail) +
                       (Compensated::product_error(a, high[j + k], product) + a * low[j + k]);
            sum[k] = next;
            size[k] += std::fabs(product);
        }
    }
    Compensated total;
    for (; j < n; ++j) {
        total.add_product(static_cast<double>(x[j]), high[j]);
        total.low += static_cast<double>(x[j]) * low[j];
    }
    for (std::size_t k = 0; k < lanes; ++k) total.add(Compensated{sum[k], rest[k], size[k]});
    return total;
}
// out_j += x_j (high + low)
template <class T>
SKPD_CLONES void dense_axpy_compensated(double high, double low, const T* x, double* sum, double* rest, double* size,
                                        std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) {
        const double a = static_cast<double>(x[j]), product = a * high;
        const double next = sum[j] + product, tail = next - sum[j];
        rest[j] += (sum[j] - (next - tail)) + (product - tail) +
                   (Compensated::product_error(a, high, product) + a * low);
        sum[j] = next;
        size[j] += std::fabs(product);
    }
}
// The same for the entries of a sparse vector.
template <class T, class I>
SKPD_CLONES Compensated sparse_dot_compensated(const T* x, const I* indices, const double* high, const double* low,
                                               std::size_t n) {
    Compensated even, odd;  // two chains, so that additions overlap
    std::size_t p = 0;
    for (; p + 1 < n; p += 2) {
        const double a = static_cast<double>(x[p]), b = static_cast<double>(x[p + 1]);
        even.add_product(a, high[indices[p]]);
        even.low += a * low[indices[p]];
        odd.add_product(b, high[indices[p + 1]]);
        odd.low += b * low[indices[p + 1]];
    }
    if (p < n) {
        const double a = static_cast<double>(x[p]);
        even.add_product(a, high[indices[p]]);
        even.low += a * low[indices[p]];
    }
    even.add(odd);
    return even;
}
template <class T, class I>
SKPD_CLONES void sparse_axpy_compensated(double high, double low, const T* x, const I* indices, double* sum,
                                         double* rest, double* size, std::size_t n) {
    for (std::size_t p = 0; p < n; ++p) {
        const auto j = indices[p];
        Compensated out{sum[j], rest[j], size[j]};
        out.add_product(static_cast<double>(x[p]), high);
        out.low += static_cast<double>(x[p]) * low;
        sum[j] = out.high;
        rest[j] = out.low;
        size[j] = out.size;
    }
}

// Whether all indices lie in [0, n).
template <class I>
SKPD_CLONES bool all_below(const I* indices, std::size_t count, std::size_t n) {
    using Unsigned = std::make_unsigned_t<I>;
    Unsigned largest = 0;  // a negative index is a large one
#pragma omp simd reduction(max : largest)
    for (std::size_t p = 0; p < count; ++p) largest = std::max(largest, static_cast<Unsigned>(indices[p]));
    return count == 0 || largest < n;
}

template <class T>
struct Dense {
    const T* data;
    std::size_t n_major, n_minor;
    std::ptrdiff_t stride;  // between major vectors, in elements

    std::size_t n_entries() const { return n_major * n_minor; }
    // some of the major vectors, or a piece of all of them
    Dense majors(std::size_t first, std::size_t last) const { return {major(first), last - first, n_minor, stride}; }
    Dense minors(std::size_t first, std::size_t last) const { return {data + first, n_major, last - first, stride}; }
    std::size_t length(std::size_t) const { return n_minor; }
    const T* major(std::size_t k) const { return data + static_cast<std::ptrdiff_t>(k) * stride; }
    Four<T> four(const std::array<std::size_t, together>& k) const {
        return {major(k[0]), major(k[1]), major(k[2]), major(k[3])};
    }

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        const T* x = major(k);
        for (std::size_t j = 0; j < n_minor; ++j) visit(j, static_cast<double>(x[j]));
    }
    double dot(std::size_t k, const double* v) const { return dense_dot(major(k), v, n_minor); }
    double square(std::size_t k) const { return squared_norm(major(k), n_minor); }
    void axpy(std::size_t k, double a, double* out) const { dense_axpy(a, major(k), out, n_minor); }
    Sized dot_sized(std::size_t k, const double* v) const { return dense_dot_sized(major(k), v, n_minor); }
    void axpy_sized(std::size_t k, double a, double* sum, double* size) const {
        dense_axpy_sized(a, major(k), sum, size, n_minor);
    }
    Compensated dot_compensated(std::size_t k, const double* high, const double* low) const {
        return dense_dot_compensated(major(k), high, low, n_minor);
    }
    void axpy_compensated(std::size_t k, double high, double low, double* sum, double* rest, double* size) const {
        dense_axpy_compensated(high, low, major(k), sum, rest, size, n_minor);
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

    template <class Visit>
    void for_each(std::size_t k, Visit visit) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p)
            visit(static_cast<std::size_t>(indices[p]), static_cast<double>(data[p]));
    }
    double dot(std::size_t k, const double* v) const {
        double sums[4] = {};  // several chains, so that additions overlap
        I p = indptr[k];
        const I end = indptr[k + 1];
        for (; end - p > 3; p += 4)
            for (I q = 0; q < 4; ++q) sums[q] += static_cast<double>(data[p + q]) * v[indices[p + q]];
        for (; p < end; ++p) sums[0] += static_cast<double>(data[p]) * v[indices[p]];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    double square(std::size_t k) const { return squared_norm(data + indptr[k], length(k)); }
    void axpy(std::size_t k, double a, double* out) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) out[indices[p]] += a * static_cast<double>(data[p]);
    }
    Sized dot_sized(std::size_t k, const double* v) const {
        double sums[4] = {}, sizes[4] = {};
        I p = indptr[k];
        const I end = indptr[k + 1];
        for (; end - p > 3; p += 4)
            for (I q = 0; q < 4; ++q) {
                const double product = static_cast<double>(data[p + q]) * v[indices[p + q]];
                sums[q] += product;
                sizes[q] += std::fabs(product);
            }
        for (; p < end; ++p) {
            const double product = static_cast<double>(data[p]) * v[indices[p]];
            sums[0] += product;
            sizes[0] += std::fabs(product);
        }
        return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (sizes[0] + sizes[1]) + (sizes[2] + sizes[3])};
    }
    void axpy_sized(std::size_t k, double a, double* sum, double* size) const {
        for (I p = indptr[k]; p < indptr[k + 1]; ++p) {
            const double product = a * static_cast<double>(data[p]);
            sum[indices[p]] += product;
            size[indices[p]] += std::fabs(product);
        }
    }
    Compensated dot_compensated(std::size_t k, const double* high, const double* low) const {
        const auto first = static_cast<std::size_t>(indptr[k]), last = static_cast<std::size_t>(indptr[k + 1]);
        return sparse_dot_compensated(data + first, indices + first, high, low, last - first);
    }
    void axpy_compensated(std::size_t k, double high, double low, double* sum, double* rest, double* size) const {
        const auto first = static_cast<std::size_t>(indptr[k]), last = static_cast<std::size_t>(indptr[k + 1]);
        sparse_axpy_compensated(high, low, data + first, indices + first, sum, rest, size, last - first);
    }
};

template <class M>
constexpr bool is_dense = false;
template <class T>
constexpr bool is_dense<Dense<T>> = true;

using AnyLayout = std::variant<Dense<double>, Dense<float>, Sparse<double, std::int32_t>, Sparse<float, std::int32_t>,
                               Sparse<double, std::int64_t>, Sparse<float, std::int64_t>>;

// Where a vector is not zero, if that is so rare that the rest of a dense row is better left unread.
inline std::vector<std::size_t> rare_nonzeros(const double* v, std::size_t n) {
    std::vector<std::size_t> places;
    for (std::size_t j = 0; j < n; ++j) {
        if (v[j] == 0.0) continue;
        if (16 * places.size() > n) return {};
        places.push_back(j);
    }
    return places;
}

// out[k] = x_{at(k)} . v for k < n
template <class M, class At>
void dots(const M& matrix, At at, std::size_t n, const double* v, double* out) {
    std::size_t k = 0;
    if constexpr (is_dense<M>)
        for (; k + together <= n; k += together)
            dense_dots(matrix.four({at(k), at(k + 1), at(k + 2), at(k + 3)}), v, matrix.n_minor, out + k);
    for (; k < n; ++k) out[k] = matrix.dot(at(k), v);
}

// out[k] = sum_j map(x_kj) v_j
template <class Map, class M>
void gather(const M& matrix, const double* v, double* out) {
    if constexpr (is_dense<M> && std::is_same_v<Map, Identity>) {
        if (const auto places = rare_nonzeros(v, matrix.n_minor); !places.empty()) {
            for (std::size_t k = 0; k < matrix.n_major; ++k) {
                const auto* x = matrix.major(k);
                double sum = 0.0;
                for (const std::size_t j : places) sum += static_cast<double>(x[j]) * v[j];
                out[k] = sum;
            }
            return;
        }
    }
    if constexpr (std::is_same_v<Map, Identity>) {
        dots(matrix, [](std::size_t k) { return k; }, matrix.n_major, v, out);
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k) {
            double sum = 0.0;
            matrix.for_each(k, [&](std::size_t j, double x) { sum += Map::of(x) * v[j]; });
            out[k] = sum;
        }
    }
}

// out[k] = sum_j x_{some[k], j} v_j
template <class M, class I>
void gather_some(const M& matrix, const I* some, std::size_t n, const double* v, double* out) {
    dots(matrix, [&](std::size_t k) { return static_cast<std::size_t>(some[k]); }, n, v, out);
}

// out[j] += sum_k v_k x_{k, some[j]}
template <class T, class I>
void scatter_some(const Dense<T>& matrix, const I* some, std::size_t n, const double* v, double* out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        if (v[k] == 0.0) continue;
        const T* x = matrix.major(k);
        for (std::size_t j = 0; j < n; ++j) out[j] += v[k] * static_cast<double>(x[some[j]]);
    }
}

// fours(places) for every four entries of v that are not 0, and single(k) for those left over
template <class Fours, class Single>
void over_nonzeros(const double* v, std::size_t n, Fours fours, Single single) {
    std::array<std::size_t, together> places{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (v[k] == 0.0) continue;
        places[count++] = k;
        if (count < together) continue;
        fours(places);
        count = 0;
    }
    for (std::size_t i = 0; i < count; ++i) single(places[i]);
}

// out[j] += sum_k v_k map(x_kj)
template <class Map, class M>
void scatter(const M& matrix, const double* v, double* out) {
    if constexpr (is_dense<M> && std::is_same_v<Map, Identity>) {
        over_nonzeros(
            v, matrix.n_major,
            [&](const auto& k) { dense_axpys({v[k[0]], v[k[1]], v[k[2]], v[k[3]]}, matrix.four(k), out, matrix.n_minor); },
            [&](std::size_t k) { matrix.axpy(k, v[k], out); });
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k) {
            if (v[k] == 0.0) continue;
            if constexpr (std::is_same_v<Map, Identity>) {
                matrix.axpy(k, v[k], out);
            } else {
                matrix.for_each(k, [&](std::size_t j, double x) { out[j] += v[k] * Map::of(x); });
            }
        }
    }
}

// The same two products with bounds on their rounding errors.
struct Bounded {
    double *sum, *size;  // size: the sums of the magnitudes of the terms, in the end the bounds

    Bounded from(std::size_t first) const { return {sum + first, size + first}; }
    // for so many products of three factors, added up in any order; as many underflows are less than
    // the smallest normal number
    void bound(std::size_t k, std::size_t n_terms) const {
        constexpr double unit = 1.1102230246251565e-16;  // 2^-53
        size[k] = 1.1 * unit * static_cast<double>(n_terms + 6) * size[k] + std::numeric_limits<double>::min();
    }
};
struct BoundedVector {
    std::vector<double> sum, size;

    explicit BoundedVector(std::size_t n, double value = 0.0) : sum(n, value), size(n, std::fabs(value)) {}
    operator Bounded() { return {sum.data(), size.data()}; }
};

template <class M>
void gather_bounded(const M& matrix, const double* v, Bounded out) {
    if constexpr (is_dense<M>) {
        if (const auto places = rare_nonzeros(v, matrix.n_minor); !places.empty()) {
            for (std::size_t k = 0; k < matrix.n_major; ++k) {
                const auto* x = matrix.major(k);
                Sized row;
                for (const std::size_t j : places) {
                    const double product = static_cast<double>(x[j]) * v[j];
                    row.sum += product;
                    row.size += std::fabs(product);
                }
                out.sum[k] += row.sum;
                out.size[k] += row.size;
                out.bound(k, places.size());
            }
            return;
        }
    }
    const auto n = static_cast<std::size_t>(std::count_if(v, v + matrix.n_minor, [](double x) { return x != 0.0; }));
    const auto add = [&](std::size_t k, const Sized& row) {
        out.sum[k] += row.sum;
        out.size[k] += row.size;
        out.bound(k, std::min(n, matrix.length(k)));
    };
    std::size_t k = 0;
    if constexpr (is_dense<M>)
        for (Sized rows[together]; k + together <= matrix.n_major; k += together) {
            dense_dots_sized(matrix.four({k, k + 1, k + 2, k + 3}), v, matrix.n_minor, rows);
            for (std::size_t i = 0; i < together; ++i) add(k + i, rows[i]);
        }
    for (; k < matrix.n_major; ++k) add(k, matrix.dot_sized(k, v));
}

template <class M>
void scatter_bounded(const M& matrix, const double* v, Bounded out) {
    std::size_t n = 0;
    const auto single = [&](std::size_t k) {
        matrix.axpy_sized(k, v[k], out.sum, out.size);
        ++n;
    };
    if constexpr (is_dense<M>) {
        const auto fours = [&](const auto& k) {
            dense_axpys_sized({v[k[0]], v[k[1]], v[k[2]], v[k[3]]}, matrix.four(k), out.sum, out.size, matrix.n_minor);
            n += together;
        };
        over_nonzeros(v, matrix.n_major, fours, single);
    } else {
        for (std::size_t k = 0; k < matrix.n_major; ++k)
            if (v[k] != 0.0) single(k);
    }
    for (std::size_t j = 0; j < matrix.n_minor; ++j) out.bound(j, n);
}

// The same two products in twice the working precision: out += X (high + low). The vector
// is a pair as well, so that the rounding of a product of two vectors is not lost.
struct Doubled {
    double *high, *low, *size;  // size: the sums of the magnitudes of the terms

    Doubled from(std::size_t first) const { return {high + first, low + first, size + first}; }
};
struct CompensatedVector {
    std::vector<double> high, low, size;

    explicit CompensatedVector(std::size_t n, double value = 0.0)
        : high(n, value), low(n, 0.0), size(n, std::fabs(value)) {}
    operator Doubled() { return {high.data(), low.data(), size.data()}; }
};

template <class M>
void gather_compensated(const M& matrix, const CompensatedVector& v, Doubled out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k) {
        Compensated sum{out.high[k], out.low[k], out.size[k]};
        sum.add(matrix.dot_compensated(k, v.high.data(), v.low.data()));
        out.high[k] = sum.high;
        out.low[k] = sum.low;
        out.size[k] = sum.size;
    }
}

template <class M>
void scatter_compensated(const M& matrix, const CompensatedVector& v, Doubled out) {
    for (std::size_t k = 0; k < matrix.n_major; ++k)
        if (v.high[k] != 0.0) matrix.axpy_compensated(k, v.high[k], v.low[k], out.high, out.low, out.size);
}

}  // namespace skpd
