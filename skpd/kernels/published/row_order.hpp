// An endless sequence of the rows 0, ..., n - 1, each once in every pass, in a random order of blocks of neighbours,
// which a cache reads together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "maths/random.hpp"

namespace skpd {

class RowOrder {
   public:
    RowOrder(std::size_t n, std::uint64_t seed) : n_(n), random_(seed) { shuffle(); }

    std::uint32_t next() {
        if (place_ == n_) shuffle();
        return order_[place_++];
    }

   private:
    static constexpr std::size_t block = 8;

    void shuffle() {
        place_ = 0;
        std::vector<std::uint32_t> blocks((n_ + block - 1) / block);
        std::iota(blocks.begin(), blocks.end(), std::uint32_t{0});
        for (std::size_t k = blocks.size(); k > 1; --k)
            std::swap(blocks[k - 1], blocks[random_.below(k)]);
        order_.clear();
        for (const std::size_t first : blocks)
            for (std::size_t i = first * block; i < std::min((first + 1) * block, n_); ++i)
                order_.push_back(static_cast<std::uint32_t>(i));
    }

    std::size_t n_, place_ = 0;
    std::vector<std::uint32_t> order_;
    Xorshift random_;
};

}  // namespace skpd
