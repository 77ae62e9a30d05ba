// X v and X'u for a large matrix X, distributed among threads. Every entry of a result is computed by one thread and in
// the same order as without threads, so that their number changes no digit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "data/products.hpp"

namespace skpd {

// Calls work(k) for k = 0, ..., n_parts - 1, each in a thread of its own.
inline void in_threads(std::size_t n_parts, const std::function<void(std::size_t)>& work) {
    std::vector<std::thread> threads;
    std::size_t k = 1;
    try {
        for (; k < n_parts; ++k) threads.emplace_back(std::cref(work), k);
    } catch (const std::system_error&) {  // the system has no more threads; this one does the rest of the work
    }
    work(0);
    for (; k < n_parts; ++k) work(k);
    for (auto& thread : threads) thread.join();
}

// The n_parts + 1 boundaries of parts of the major vectors that have about equal numbers of entries.
template <class M>
std::vector<std::size_t> parts_of_majors(const M& matrix, std::size_t n_parts) {
    std::vector<std::size_t> ends(n_parts + 1);
    for (std::size_t k = 0; k <= n_parts; ++k) {
        if constexpr (is_dense<M>) {
            // Every part keeps the groups of four of the whole matrix.
            ends[k] = matrix.n_major * k / n_parts / together * together;
        } else {
            using Index = std::remove_cvref_t<decltype(*matrix.indptr)>;
            const auto* end = matrix.indptr + matrix.n_major;
            const auto share = static_cast<Index>(matrix.n_entries() * k / n_parts);
            ends[k] = static_cast<std::size_t>(std::lower_bound(matrix.indptr, end, share) - matrix.indptr);
        }
    }
    ends[0] = 0;
    ends[n_parts] = matrix.n_major;
    return ends;
}

// Calls work(part, first) on parts of the matrix, which give the entries of the product from `first` on. The scattered
// sums of a sparse matrix cannot be divided in this way.
template <class M, class Work>
void by_parts(const M& matrix, bool gathers, std::size_t n_parts, Work work) {
    if (gathers && n_parts > 1) {
        const auto ends = parts_of_majors(matrix, n_parts);
        in_threads(n_parts, [&](std::size_t k) { work(matrix.majors(ends[k], ends[k + 1]), ends[k]); });
        return;
    }
    if constexpr (is_dense<M>) {
        constexpr std::size_t line = 8;  // two threads should not write to one line of the cache
        n_parts = std::min(n_parts, matrix.n_minor / (2 * line));
        if (n_parts > 1) {
            const std::size_t size = (matrix.n_minor / n_parts + line - 1) / line * line;
            in_threads(n_parts, [&](std::size_t k) {
                const std::size_t first = std::min(k * size, matrix.n_minor);
                const std::size_t last = k + 1 < n_parts ? std::min(first + size, matrix.n_minor) : matrix.n_minor;
                work(matrix.minors(first, last), first);
            });
            return;
        }
    }
    work(matrix, 0);
}

}  // namespace skpd
