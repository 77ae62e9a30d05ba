// Arrays from Python, borrowed and never copied, and arrays handed to it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace skpd {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using In = Array<const double>;
using Out = Array<double>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using InTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_numpy(std::vector<T> values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {owned->data(), {owned->size()}, owner};
}

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

}  // namespace skpd
