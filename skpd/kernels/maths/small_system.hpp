// H x = g for a symmetric positive semidefinite H (N, N) of a few unknowns.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace skpd {

template <std::size_t N>
using SmallMatrix = std::array<std::array<double, N>, N>;

// Solves H x = g in the first n unknowns by a scaled and slightly regularised Cholesky factorisation; H (N, N), g and x
// (N). It reads the lower triangle of H only.
template <std::size_t N>
void solve_small(SmallMatrix<N> H, const std::array<double, N>& g, std::array<double, N>& x, std::size_t n = N) {
    std::array<double, N> scale{};
    for (std::size_t a = 0; a < n; ++a) scale[a] = H[a][a] > 0.0 ? 1.0 / std::sqrt(H[a][a]) : 0.0;
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
            double sum = b < a ? H[a][b] * scale[a] * scale[b] : 1.0 + 1e-10;
            for (std::size_t k = 0; k < b; ++k) sum -= H[a][k] * H[b][k];
            H[a][b] = b < a ? sum / H[b][b] : std::sqrt(std::max(sum, 1e-10));
        }
        x[a] = g[a] * scale[a];
        for (std::size_t b = 0; b < a; ++b) x[a] -= H[a][b] * x[b];
        x[a] /= H[a][a];
    }
    for (std::size_t a = n; a-- > 0;) {
        for (std::size_t b = a + 1; b < n; ++b) x[a] -= H[b][a] * x[b];
        x[a] /= H[a][a];
    }
    for (std::size_t a = 0; a < n; ++a) x[a] *= scale[a];
}

}  // namespace skpd
