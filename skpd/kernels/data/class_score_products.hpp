// The products of row x_i of a matrix X (n, d) with a table V (d, stride), which has a row of class scores for each
// feature:
//   out = x_i' V    (`scores`),        V += x_i a'    (`add_outer`),        out and a of shape (stride).
// The rows of V lie one after the other, and stride is a multiple of `lanes`, so that processors add several classes at
// once and read V in the order of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

constexpr std::size_t lanes = 4;  // the number of classes that are added at once
constexpr std::size_t widest = 16;  // the number of classes whose sums stay in the registers

constexpr std::size_t padded(std::size_t n_classes) { return (n_classes + lanes - 1) / lanes * lanes; }

// This allocator returns memory that begins with a line of the cache, so that no block of `lanes` lies in two lines.
template <class T>
struct ByLines {
    using value_type = T;
    static constexpr std::align_val_t line{64};

    ByLines() = default;
    template <class U>
    ByLines(const ByLines<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* place, std::size_t) { ::operator delete(place, line); }
    bool operator==(const ByLines&) const = default;
};
using Numbers = std::vector<double, ByLines<double>>;

// out_k = sum_j x_ij table_jk for k < width; table (d, stride), out (width). Without the pragma GCC puts neighbouring
// features side by side instead of classes, which takes twice as long.
template <std::size_t width, class M>
SKPD_CLONES void scores_of_classes(const M& matrix, std::size_t i, const double* table, std::size_t stride,
                                   double* out) {
    using Sums = std::array<double, width>;
    const auto [a, b] = interleaved_sums<Sums, 2>(std::size_t{0}, matrix.length(i), [&](Sums& sums, std::size_t q) {
        const double* row = table + matrix.place(i, q) * stride;
        const double x = matrix.entry(i, q);
#pragma omp simd
        for (std::size_t k = 0; k < width; ++k) sums[k] += x * row[k];
    });
    for (std::size_t k = 0; k < width; ++k) out[k] = a[k] + b[k];
}

// table_jk += x_ij a_k for k < width; a (width), table (d, stride)
template <std::size_t width, class M>
SKPD_CLONES void add_to_classes(const M& matrix, std::size_t i, const double* a, double* table, std::size_t stride) {
    double increments[width];
    std::copy_n(a, width, increments);
    for (std::size_t q = 0, n = matrix.length(i); q < n; ++q) {
        double* row = table + matrix.place(i, q) * stride;
        const double x = matrix.entry(i, q);
#pragma omp simd
        for (std::size_t k = 0; k < width; ++k) row[k] += x * increments[k];
    }
}

// Calls visit(std::integral_constant width, first) for blocks of so many columns, the first of which is column `first`:
// as many as possible of the largest width, and one of those that are left.
template <std::size_t width = widest, class Visit>
void by_pieces(std::size_t stride, Visit visit, std::size_t first = 0) {
    for (; first + width <= stride; first += width) visit(std::integral_constant<std::size_t, width>{}, first);
    if constexpr (width > lanes) by_pieces<width - lanes>(stride, visit, first);
}

// out = x_i' table; table (d, stride), out (stride).
inline void scores(const MajorVectors& vectors, std::size_t i, const double* table, std::size_t stride, double* out) {
    vectors.visit([&](const auto& matrix) {
        by_pieces(stride, [&](auto width, std::size_t first) {
            scores_of_classes<width>(matrix, i, table + first, stride, out + first);
        });
    });
}

// table += x_i a'; a (stride), table (d, stride).
inline void add_outer(const MajorVectors& vectors, std::size_t i, const double* a, double* table, std::size_t stride) {
    vectors.visit([&](const auto& matrix) {
        by_pieces(stride, [&](auto width, std::size_t first) {
            add_to_classes<width>(matrix, i, a + first, table + first, stride);
        });
    });
}

}  // namespace skpd
