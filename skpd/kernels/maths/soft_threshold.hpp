// Soft thresholds, and that of the projection onto an l1 ball from a guess of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "data/compensated.hpp"
#include "maths/losses.hpp"

namespace skpd {

// The least tau >= 0 with sum_j max(|v_j| - tau, 0) <= total, by Newton steps from any tau: the function is
// convex and decreasing, so that after one step they rise.
SKPD_CLONES inline double l1_threshold(const double* v, std::size_t n, double total, double tau) {
    for (int step = 0; step < 100; ++step) {
        double sum = 0.0, count = 0.0;
#pragma omp simd reduction(+ : sum, count)
        for (std::size_t j = 0; j < n; ++j) {
            const double excess = std::fabs(v[j]) - tau;
            sum += std::max(excess, 0.0);
            count += excess > 0.0 ? 1.0 : 0.0;
        }
        if (count == 0.0) {
            if (tau == 0.0) return 0.0;
            tau = 0.0;  // from below
            continue;
        }
        const double next = std::max(tau + (sum - total) / count, 0.0);
        if (next == tau || (step > 0 && next <= tau)) return tau;
        tau = next;
    }
    return tau;
}

inline double soft(double v, double tau) { return v - clip(v, -tau, tau); }

}  // namespace skpd
