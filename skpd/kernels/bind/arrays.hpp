// The arrays that Python hands over, which are borrowed and never copied, and the arrays that it receives; and the
// checks of their shapes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace skpd {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using In = Array<const double>;
using Out = Array<double>;
using Indices = Array<const std::int64_t>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using InTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Returns a NumPy array that owns these values.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_numpy(std::vector<T> values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {owned->data(), {owned->size()}, owner};
}

// Returns a copy of these values.
template <class T>
std::vector<T> copied(const Array<const T>& values) {
    return {values.data(), values.data() + values.shape(0)};
}

// Returns work(), while other threads may call Python.
template <class Work>
auto without_lock(Work work) {
    nb::gil_scoped_release release;
    return work();
}

// Returns the array (n) that write(out) fills, while other threads may call Python.
template <class Write>
nb::ndarray<nb::numpy, double, nb::ndim<1>> filled(std::size_t n, Write write) {
    std::vector<double> out(n);
    without_lock([&] { write(out.data()); });
    return as_numpy(std::move(out));
}

// Throws a ValueError with this message unless the condition holds.
inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}
// Returns whether all arrays have the shape (n).
template <class... Arrays>
bool have_length(std::size_t n, const Arrays&... arrays) {
    return ((arrays.shape(0) == n) && ...);
}
// Requires that all arrays have the shape (n).
template <class... Arrays>
void require_length(std::size_t n, const Arrays&... arrays) {
    require(have_length(n, arrays...), "the vectors differ in length");
}
// Returns whether all tables have the shape (n_rows, n_columns).
template <class... Tables>
bool have_shape(std::size_t n_rows, std::size_t n_columns, const Tables&... tables) {
    return ((tables.shape(0) == n_rows && tables.shape(1) == n_columns) && ...);
}
// Requires lower <= indices_a < n for all a, and increasing indices if `increasing` is set.
template <class I>
void require_within(const Array<const I>& indices, std::size_t n, const char* message, std::int64_t lower = 0,
                    bool increasing = false) {
    for (std::size_t a = 0; a < indices.shape(0); ++a) {
        const std::int64_t index = indices.data()[a];
        require(index >= lower && index < static_cast<std::int64_t>(n), message);
        if (increasing) lower = index + 1;
    }
}
// Requires starts (n_groups + 1) of neighbouring groups, followed by the end of the last one, which do not decrease and
// lie within n entries.
inline void require_starts(const Indices& starts, std::size_t n_groups, std::size_t n = std::size_t{1} << 62) {
    require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
    require_within(starts, n + 1, "starts must lie within the entries");
    require(std::is_sorted(starts.data(), starts.data() + n_groups + 1), "starts must not decrease");
}

}  // namespace skpd
