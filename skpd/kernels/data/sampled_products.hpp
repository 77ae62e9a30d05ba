// Some entries of a product of two factors.
#pragma once

#include <cstddef>

namespace skpd {

// out_e = sum_k left[rows_e, k] right[columns_e, k], both factors with their rows one after the other.
template <class Index>
void sampled_products(const double* left, const double* right, std::size_t rank, const Index* rows, const Index* columns,
                      std::size_t n, double* out) {
    for (std::size_t e = 0; e < n; ++e) {
        const double* u = left + static_cast<std::size_t>(rows[e]) * rank;
        const double* v = right + static_cast<std::size_t>(columns[e]) * rank;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < rank; ++k) sum += u[k] * v[k];
        out[e] = sum;
    }
}

}  // namespace skpd
