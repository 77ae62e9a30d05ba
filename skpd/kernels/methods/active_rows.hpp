// The order of the rows in dual coordinate descent: the n_active first ones are visited, and the others are left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skpd {

class ActiveRows {
   public:
    void push_back(std::size_t i) {
        order_.push_back(static_cast<std::uint32_t>(i));
        n_active_ = order_.size();
    }
    std::size_t size() const { return n_active_; }
    std::uint32_t operator[](std::size_t place) const { return order_[place]; }
    const std::vector<std::uint32_t>& all() const { return order_; }  // all rows, of which the active ones come first

    // Begins an epoch, in which no row has yet been seen to rest.
    void begin_epoch() {
        rests_.assign(n_active_, 0);
        n_resting_ = 0;
    }
    void mark_resting(std::size_t place) {
        rests_[place] = 1;
        ++n_resting_;
    }
    // Leaves out the rows that rest; the others keep their order.
    void shrink() {
        if (n_resting_ == 0) return;
        left_out_.resize(n_active_);
        std::size_t kept = 0, out = 0;
        for (std::size_t place = 0; place < n_active_; ++place) {  // the branches would be mispredicted
            const std::uint32_t i = order_[place];
            order_[kept] = left_out_[out] = i;
            kept += !rests_[place];
            out += rests_[place];
        }
        std::copy_n(left_out_.begin(), out, order_.begin() + static_cast<std::ptrdiff_t>(kept));
        n_active_ = kept;
    }
    // Makes the rows active again that were left out and are awake, and sorts the active rows. Returns whether there
    // are any.
    template <class Awake>
    bool wake(Awake awake) {
        const auto first = order_.begin() + static_cast<std::ptrdiff_t>(n_active_);
        const auto end = std::partition(first, order_.end(), awake);
        if (end == first) return false;
        n_active_ = static_cast<std::size_t>(end - order_.begin());
        std::sort(order_.begin(), end);
        return true;
    }

   private:
    std::vector<std::uint32_t> order_, left_out_;
    std::vector<unsigned char> rests_;  // whether the row at this place rests
    std::size_t n_active_ = 0, n_resting_ = 0;
};

}  // namespace skpd
