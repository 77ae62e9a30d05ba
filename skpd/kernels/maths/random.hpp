// Random integers for the order in which rows and columns are visited: Marsaglia's xorshift with 64 bits (2003), of
// which the upper half is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skpd {

class Xorshift {
   public:
    explicit Xorshift(std::uint64_t seed) : state_(seed) {}  // the seed must not be 0

    // An integer from 0 to n - 1, for n < 2^32
    std::size_t below(std::size_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(((state_ >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }

   private:
    std::uint64_t state_;
};

}  // namespace skpd
