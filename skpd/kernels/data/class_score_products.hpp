// The products of row x_i of a matrix X (n, d) with a table V (d, stride), which has a row of class scores for each
// feature:
//   out = x_i' V    (`scores`),        V += x_i a'    (`add_outer`),        out and a of shape (stride).
// The rows of V lie one after the other, and stride is a multiple of `lanes`, so that processors add several classes at
// once and read V in the order of memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "data/layouts.hpp"

namespace skpd {

constexpr std::size_t lanes = 4;  // the number of classes that are added at once
constexpr std::size_t widest = 16;  // the number of classes whose sums stay in the registers

constexpr std::size_t padded(std::size_t n_classes) { return (n_classes + lanes - 1) / lanes * lanes; }

// This allocator returns memory that begins with a line of the cache, so that no `Lanes` lie in two lines.
template <class T>
struct ByLines {
    using value_type = T;
    static constexpr std::align_val_t line{64};

    ByLines() = default;
    template <class U>
    ByLines(const ByLines<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* place, std::size_t) { ::operator delete(place, line); }
    template <class U>
    bool operator==(const ByLines<U>&) const {
        return true;
    }
};
using Numbers = std::vector<double, ByLines<double>>;

// `Lanes` holds the numbers of neighbouring classes. Compilers that vectorise by themselves put neighbouring features
// side by side instead.
#if defined(__GNUC__)
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;
#else
struct Lanes {
    double x[lanes];
    Lanes& operator+=(const Lanes& other) {
        for (std::size_t k = 0; k < lanes; ++k) x[k] += other.x[k];
        return *this;
    }
    friend Lanes operator*(double a, Lanes v) {
        for (std::size_t k = 0; k < lanes; ++k) v.x[k] *= a;
        return v;
    }
};
#endif

// The n stored entries of a row; the entry at position q belongs to feature indices[q], or to feature q if I is void.
template <class T, class I>
struct Entries {
    const T* x;
    const I* indices;
    std::size_t n;
    std::size_t feature(std::size_t q) const {
        if constexpr (std::is_void_v<I>) return q;
        else return static_cast<std::size_t>(indices[q]);
    }
    double value(std::size_t q) const { return static_cast<double>(x[q]); }
};
template <class T>
Entries<T, void> entries_of(const Dense<T>& matrix, std::size_t i) {
    return {matrix.major(i), nullptr, matrix.n_minor};
}
template <class T, class I>
Entries<T, I> entries_of(const Sparse<T, I>& matrix, std::size_t i) {
    return {matrix.data + matrix.indptr[i], matrix.indices + matrix.indptr[i], matrix.length(i)};
}

// Lanes are loaded one after the other, since GCC moves larger pieces by way of memory.
SKPD_INLINE Lanes load(const double* place) {
    Lanes values;
    std::memcpy(&values, place, sizeof(values));
    return values;
}
SKPD_INLINE void store(double* place, Lanes values) { std::memcpy(place, &values, sizeof(values)); }

// out_k = sum_j x_ij table_jk for k < Count * `lanes`; table (d, stride), out (Count * lanes).
template <std::size_t Count, class M>
SKPD_CLONES void scores_of_lanes(const M& matrix, std::size_t i, const double* table, std::size_t stride, double* out) {
    Lanes even[Count] = {}, odd[Count] = {};  // two chains of sums let additions overlap
    const auto entries = entries_of(matrix, i);
    std::size_t q = 0;
    for (; q + 1 < entries.n; q += 2) {
        const double *first = table + entries.feature(q) * stride, *second = table + entries.feature(q + 1) * stride;
        const double x = entries.value(q), next = entries.value(q + 1);
        for (std::size_t m = 0; m < Count; ++m) {
            even[m] += x * load(first + m * lanes);
            odd[m] += next * load(second + m * lanes);
        }
    }
    if (q < entries.n) {
        const double* last = table + entries.feature(q) * stride;
        for (std::size_t m = 0; m < Count; ++m) even[m] += entries.value(q) * load(last + m * lanes);
    }
    for (std::size_t m = 0; m < Count; ++m) {
        even[m] += odd[m];
        store(out + m * lanes, even[m]);
    }
}

// table_jk += x_ij a_k for k < Count * `lanes`; a (Count * lanes), table (d, stride).
template <std::size_t Count, class M>
SKPD_CLONES void add_lanes(const M& matrix, std::size_t i, const double* a, double* table, std::size_t stride) {
    Lanes increments[Count];
    for (std::size_t m = 0; m < Count; ++m) increments[m] = load(a + m * lanes);
    const auto entries = entries_of(matrix, i);
    for (std::size_t q = 0; q < entries.n; ++q) {
        double* place = table + entries.feature(q) * stride;
        const double x = entries.value(q);
        for (std::size_t m = 0; m < Count; ++m) {
            Lanes row = load(place + m * lanes);
            row += x * increments[m];
            store(place + m * lanes, row);
        }
    }
}

template <std::size_t Count>
struct CountOf {
    static constexpr std::size_t value = Count;
};

// Calls visit(CountOf<Count>, first) for each block of Count * `lanes` columns, the first of which is column `first`.
template <class Visit>
void by_pieces(std::size_t stride, Visit visit) {
    static_assert(widest == 4 * lanes);
    std::size_t first = 0;
    for (; first + widest <= stride; first += widest) visit(CountOf<4>{}, first);
    switch ((stride - first) / lanes) {
        case 3: return visit(CountOf<3>{}, first);
        case 2: return visit(CountOf<2>{}, first);
        case 1: return visit(CountOf<1>{}, first);
        default: return;
    }
}

// out = x_i' table; table (d, stride), out (stride).
inline void scores(const MajorVectors& vectors, std::size_t i, const double* table, std::size_t stride, double* out) {
    vectors.visit([&](const auto& matrix) {
        by_pieces(stride, [&](auto count, std::size_t first) {
            scores_of_lanes<decltype(count)::value>(matrix, i, table + first, stride, out + first);
        });
    });
}

// table += x_i a'; a (stride), table (d, stride).
inline void add_outer(const MajorVectors& vectors, std::size_t i, const double* a, double* table, std::size_t stride) {
    vectors.visit([&](const auto& matrix) {
        by_pieces(stride, [&](auto count, std::size_t first) {
            add_lanes<decltype(count)::value>(matrix, i, a + first, table + first, stride);
        });
    });
}

}  // namespace skpd
