// Sums and products carried as an unevaluated pair high + low of doubles
// (Dekker 1971; Ogita, Rump, Oishi 2005), so that a sum of n terms is as accurate
// as if it had been computed in twice the working precision and rounded once.
#pragma once

#include <cmath>

namespace skpd {

struct Compensated {
    double high = 0.0;
    double low = 0.0;

    void add(double x) {
        const double sum = high + x;
        const double tail = sum - high;
        low += (high - (sum - tail)) + (x - tail);
        high = sum;
    }

    // add(a * b) with the rounding error of the product kept
    void add_product(double a, double b) {
        const double product = a * b;
        add(product);
#if defined(__FMA__) || defined(__aarch64__)
        low += std::fma(a, b, -product);
#else
        constexpr double splitter = 134217729.0;  // 2^27 + 1, Veltkamp's splitting
        const double ta = splitter * a, tb = splitter * b;
        const double a1 = ta - (ta - a), a2 = a - a1;
        const double b1 = tb - (tb - b), b2 = b - b1;
        low += a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
#endif
    }

    // The pair with |low| at most half a unit in the last place of high.
    // Splitting overflows beyond 1e300: there the plain sum is all there is.
    Compensated normalized() const {
        const double sum = high + low;
        if (!std::isfinite(sum)) return {high, 0.0};
        return {sum, low - (sum - high)};
    }
};

}  // namespace skpd
