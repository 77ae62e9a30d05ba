// Dual coordinate descent (Hsieh et al., 2008) for
//
//     minimise over v    sum_i c_i l(y_i, z_i) + (alpha / 2) ||v||^2,    z_i = (x_i, s) . v
//
// whose dual point theta gives v = offset e - (1 / alpha) sum_i c_i theta_i (x_i, s), e the last
// unit vector. With s > 0 the last entry of v is the intercept over s, drawn to its offset.
//
// Beside the published method: the rows come in blocks of neighbours, which the cache likes;
// the gap is estimated from the predictions that an epoch sees anyway; and the moves of
// the last epochs span a small subspace in which the dual is maximised at once, on the
// face of the dual variables that are inside a piece of l*. That cures slow creeping.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "maths/losses.hpp"
#include "data/matrix.hpp"
#include "maths/random.hpp"
#include "maths/small_system.hpp"
#include "methods/move_vectors.hpp"

namespace skpd {

// What a dual coordinate descent offers, whatever its loss and layout.
struct DualDescent {
    virtual ~DualDescent() = default;
    // Epochs until the gap is at most the target, at most so many, and at most so many
    // visits of rows. Returns the numbers of both and the gap (inf while unknown).
    virtual std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) = 0;
    // Moves the offset to where the last entry of v is; returns sum_i c_i theta_i.
    virtual double recentre() = 0;
    // Computes v from theta, rid of the rounding of its changes.
    virtual void refresh() = 0;
    virtual std::vector<double> theta() const = 0;
    virtual std::vector<double> variables() const = 0;  // v
};

struct DualDescentRow {
    double theta, y, weight, step;  // step = alpha / (c_i ||(x_i, s)||^2)
};

// Which rows may move where predictions that were z have gone at most norm (way - way_seen) to either side.
template <class Loss>
SKPD_CLONES void may_move(const Loss& loss, std::size_t n, const DualDescentRow* rows, const double* z,
                          const double* way_seen, const double* norms, double way, unsigned char* moves) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const auto [theta, y, weight, step] = rows[i];
        const double reach = norms[i] * (way - way_seen[i]);
        const double below = dual_prox(local, y, theta, z[i] - reach, step);
        const double above = dual_prox(local, y, theta, z[i] + reach, step);
        moves[i] = !(below == theta) | !(above == theta);
    }
}

template <class Loss, class M>
class DualDescentOn final : public DualDescent {
   public:
    DualDescentOn(const Loss& loss, const M& matrix, const double* y, const double* weights, const double* theta,
                  double alpha, double constant, double offset, std::uint64_t seed)
        : loss_(loss), matrix_(matrix), n_(matrix.n_major), d_(matrix.n_minor), alpha_(alpha), constant_(constant),
          rows_(n_), v_(d_ + 1, 0.0), offset_(offset), random_(seed) {
        for (std::size_t i = 0; i < n_; ++i) {
            const double square = constant * constant + matrix_.square(i);
            rows_[i] = {theta[i], y[i], weights[i], alpha / (weights[i] * square)};
            if (weights[i] * square > 0.0 && std::isfinite(rows_[i].step)) {
                order_.push_back(static_cast<std::uint32_t>(i));
            } else {  // its prediction is 0 whatever v is
                rows_[i].theta = dual_prox(loss_, y[i], theta[i], 0.0, 1e300);
            }
        }
        n_active_ = order_.size();
        refresh();
    }

    std::tuple<int, double, double> run(double target, int max_epochs, double max_visits) override {
        target_ = std::max(std::min(target_, target), 0.25 * target);
        double visits = 0.0;
        int epochs = 0;
        while (epochs < max_epochs && visits < max_visits) {
            visits += static_cast<double>(n_active_);
            ++epochs;
            const double estimate = epoch();
            if (last_gap_ < 0.0) last_gap_ = estimate;
            if (estimate > std::max(target_, look_at * last_gap_) && n_active_ > 0) continue;
            const std::size_t before = n_active_;
            last_gap_ = gap_and_wake(visits);
            if (last_gap_ <= target) return {epochs, visits, last_gap_};
            if (estimate > target_) continue;
            // an estimate that sees all that moves was too good: ask for more
            if (n_active_ == before) target_ = std::max(0.25 * target, 0.7 * target_);
            // rows were left out too soon
            else patience_ = std::min(2.0 * patience_, 16.0);
        }
        return {epochs, visits, std::numeric_limits<double>::infinity()};
    }

    double recentre() override {
        double sum = 0.0;
        for (const Row& row : rows_) sum += row.weight * row.theta;
        offset_ = v_[d_];
        v_[d_] -= constant_ / alpha_ * sum;
        forget();
        wake([](std::size_t) { return true; });
        return sum;
    }

    void refresh() override {
        std::fill(v_.begin(), v_.end(), 0.0);
        v_[d_] = offset_;
        for (const std::uint32_t i : order_)
            if (rows_[i].theta != 0.0) add(i, rows_[i].theta, v_.data());
        forget();
    }

    std::vector<double> theta() const override {
        std::vector<double> out(n_);
        for (std::size_t i = 0; i < n_; ++i) out[i] = rows_[i].theta;
        return out;
    }
    std::vector<double> variables() const override { return v_; }

   private:
    static constexpr std::size_t block = 4;  // rows that are visited in order
    static constexpr int most_moves = 3;     // of the subspace
    static constexpr double look_at = 1e-3;  // share of the last gap at which to look at all rows again

    using Row = DualDescentRow;
    using Moves = std::array<std::vector<double>, most_moves>;

    double predict(std::size_t i, const double* v) const { return matrix_.dot(i, v) + constant_ * v[d_]; }
    // v <- v - (c_i change / alpha) (x_i, s)
    void add(std::size_t i, double change, double* v) const {
        const double a = -rows_[i].weight * change / alpha_;
        matrix_.axpy(i, a, v);
        v[d_] += a * constant_;
    }
    // l(y, z) + l*(y, theta) - theta z >= 0
    double fenchel_young(const Row& row, double z) const {
        return primal_value(loss_, row.y, z) + conjugate(loss_, row.y, row.theta) - row.theta * z;
    }
    bool rests(const Row& row, double z) const { return dual_prox(loss_, row.y, row.theta, z, row.step) == row.theta; }
    bool rests(const Row& row, double from, double to) const { return rests(row, from) && rests(row, to); }

    // One pass over the active rows. Returns the sum of what they lack in Fenchel's
    // inequality, each at the time of its visit: the gap, once v hardly moves.
    double epoch() {
        const bool accelerates = remember();
        const std::size_t n_blocks = (n_active_ + block - 1) / block;
        blocks_.resize(n_blocks);
        std::iota(blocks_.begin(), blocks_.end(), 0u);
        rests_.assign(n_active_, 0);
        n_resting_ = 0;
        double estimate = 0.0, largest = 0.0;
        const double slack = patience_ * largest_violation_;
        for (std::size_t k = 0; k < n_blocks; ++k) {
            std::swap(blocks_[k], blocks_[k + random_.below(n_blocks - k)]);
            const std::size_t first = blocks_[k] * block, last = std::min(first + block, n_active_);
            for (std::size_t place = first; place < last; ++place) {
                const std::size_t i = order_[place];
                Row& row = rows_[i];
                const double z = predict(i, v_.data());
                estimate += row.weight * fenchel_young(row, z);
                const double next = dual_prox(loss_, row.y, row.theta, z, row.step), change = next - row.theta;
                if (change == 0.0) {
                    if (slack > 0.0 && std::isfinite(slack) && rests(row, z - slack, z + slack)) {
                        rests_[place] = 1;
                        ++n_resting_;
                    }
                    continue;
                }
                row.theta = next;
                largest = std::max(largest, std::fabs(change) / row.step);
                add(i, change, v_.data());
            }
        }
        largest_violation_ = largest;
        if (first_estimate_ < 0.0) first_estimate_ = estimate;
        last_estimate_ = estimate;
        if (accelerates) accelerate();
        shrink();
        return estimate;
    }

    // Leaves out the rows that would not move even if their predictions moved as far as
    // the largest violation; the others keep their order.
    void shrink() {
        if (n_resting_ == 0) return;
        left_out_.resize(n_active_);
        std::size_t kept = 0, out = 0;
        for (std::size_t place = 0; place < n_active_; ++place) {  // no branches: they would be guesses
            const std::uint32_t i = order_[place];
            order_[kept] = left_out_[out] = i;
            kept += !rests_[place];
            out += rests_[place];
        }
        std::copy_n(left_out_.begin(), out, order_.begin() + static_cast<std::ptrdiff_t>(kept));
        n_active_ = kept;
    }

    template <class Awake>
    void wake(Awake awake) {
        const auto first = order_.begin() + static_cast<std::ptrdiff_t>(n_active_);
        const auto end = std::partition(first, order_.end(), awake);
        if (end == first) return;
        n_active_ = static_cast<std::size_t>(end - order_.begin());
        std::sort(order_.begin(), end);
        largest_violation_ = std::numeric_limits<double>::infinity();
    }

    // The gap by its definition. Wakes the rows left out that would move after all.
    // A row that rests has no part in the gap; its prediction is not needed where it would rest as well
    // with any that the way v has gone since the last one can have led to.
    double gap_and_wake(double& visits) {
        if (v_seen_.empty()) {
            norms_.resize(n_);
            for (std::size_t i = 0; i < n_; ++i) norms_[i] = 1.0 / std::sqrt(rows_[i].weight * rows_[i].step);
            z_seen_.assign(n_, 0.0);
            way_seen_.assign(n_, -std::numeric_limits<double>::infinity());
            v_seen_ = v_;
        }
        double square = 0.0, gap = 0.0;
        for (std::size_t j = 0; j <= d_; ++j) square += (v_[j] - v_seen_[j]) * (v_[j] - v_seen_[j]);
        v_seen_ = v_;
        way_ += std::sqrt(alpha_ * square);
        would_move_.assign(n_, 1);
        if constexpr (Loss::quadratic_pieces)  // others have no kinks to rest at
            may_move(loss_, n_, rows_.data(), z_seen_.data(), way_seen_.data(), norms_.data(), way_, would_move_.data());
        for (std::size_t i = 0; i < n_; ++i) {
            if (!would_move_[i]) continue;
            const Row& row = rows_[i];
            const double z = z_seen_[i] = predict(i, v_.data());
            way_seen_[i] = way_;
            visits += 1.0;
            gap += row.weight * fenchel_young(row, z);
            would_move_[i] = !rests(row, z);
        }
        wake([&](std::size_t i) { return would_move_[i] != 0; });
        return std::max(gap, 0.0);
    }

    // Acceleration: the total moves of the last epochs, in theta and in v

    void forget() {
        n_moves_ = 0;
        for (auto& move : moves_) std::fill(move.begin(), move.end(), 0.0);
    }

    // Whether the epoch that begins is to be accelerated; if so, where it starts.
    bool remember() {
        if constexpr (!Loss::quadratic_pieces) return false;
        accelerating_ |= first_estimate_ >= 0.0 && last_estimate_ <= 0.01 * first_estimate_;
        if (!accelerating_) return false;
        theta_before_.resize(n_);
        for (auto& move : moves_) move.resize(n_, 0.0);
        for (std::size_t place = 0; place < n_active_; ++place) theta_before_[order_[place]] = rows_[order_[place]].theta;
        v_before_ = v_;
        return true;
    }

    void accelerate() {
        if constexpr (Loss::quadratic_pieces) {
            if (n_moves_ == most_moves) {  // the oldest makes room
                std::rotate(moves_.begin(), moves_.begin() + 1, moves_.end());
                std::rotate(v_moves_.begin(), v_moves_.begin() + 1, v_moves_.end());
                --n_moves_;
            }
            const int newest = n_moves_++;
            auto& move = moves_[static_cast<std::size_t>(newest)];
            auto& v_move = v_moves_[static_cast<std::size_t>(newest)];
            v_move.resize(d_ + 1);
            for (std::size_t j = 0; j <= d_; ++j) v_move[j] = v_[j] - v_before_[j];

            // the face: rows inside a piece; what others have moved is taken out, so that only
            // active rows have moves
            face_.clear();
            std::size_t n_left = 0;
            for (std::size_t place = 0; place < n_active_; ++place) {
                const std::size_t i = order_[place];
                move[i] = rows_[i].theta - theta_before_[i];
                const Piece piece = dual_piece(loss_, rows_[i].y, rows_[i].theta);
                if (piece.inside) {
                    face_.push_back({i, piece});
                    continue;
                }
                bool left = false;
                for (int a = 0; a < n_moves_; ++a) {
                    double& change = moves_[static_cast<std::size_t>(a)][i];
                    if (change == 0.0) continue;
                    add(i, -change, v_moves_[static_cast<std::size_t>(a)].data());
                    change = 0.0;
                    left = true;
                }
                n_left += left;
            }
            if (face_.empty() || n_left > std::max<std::size_t>(3, face_.size() / 10)) return forget();
            climb();
        }
    }

    // The best combination of the moves for the dual's quadratic on the face, as far as the
    // face goes.
    void climb() {
        const auto K = static_cast<std::size_t>(n_moves_);
        std::array<std::array<double, most_moves>, most_moves> H{};
        std::array<double, most_moves> g{}, x{}, reach{};
        std::array<const double*, most_moves> q{};
        for (std::size_t a = 0; a < most_moves; ++a) q[a] = v_moves_[std::min(a, K - 1)].data();
        const MoveProducts products = move_products(v_.data(), q[0], q[1], q[2], d_ + 1);
        double size = alpha_ * products.square;
        // a move that is rounding for the most part says nothing of the next
        if (alpha_ * products.among[K - 1][K - 1] <= 1e-20 * size) return forget();
        for (std::size_t a = 0; a < K; ++a) {
            g[a] = -alpha_ * products.with_v[a];
            for (std::size_t b = 0; b <= a; ++b) H[a][b] = alpha_ * products.among[a][b];
        }
        for (const auto& [i, piece] : face_) {
            const double c = rows_[i].weight, row_norm = std::sqrt(c / rows_[i].step);
            for (std::size_t a = 0; a < K; ++a) {
                const double change = moves_[a][i];
                reach[a] += std::fabs(change) * row_norm;
                g[a] -= c * piece.slope * change;
                if (piece.curvature != 0.0)
                    for (std::size_t b = 0; b <= a; ++b) H[a][b] += c * piece.curvature * change * moves_[b][i];
                if (a + 1 == K) size += std::fabs(c * piece.slope * change);
            }
        }
        // near the end these gradients cancel, and the rounding of v would grow: then from residuals
        residual_.clear();
        if (H[K - 1][K - 1] <= 1e-14 * size) {
            g.fill(0.0);
            for (const auto& [i, piece] : face_) {
                residual_.push_back(rows_[i].weight * (predict(i, v_.data()) - piece.slope));
                for (std::size_t a = 0; a < K; ++a) g[a] += residual_.back() * moves_[a][i];
            }
        }
        // moves that cancel in v leave its rounding alone, which must not be magnified; the same
        // for their combination, below
        for (std::size_t a = 0; a < K; ++a)
            if (H[a][a] <= 1e-12 * reach[a] * reach[a]) H[a][a] = 0.0;
        solve_small(H, g, x, K);

        direction_.resize(d_ + 1);
        combine(x, q[0], q[1], q[2], direction_.data(), d_ + 1);
        change_.resize(face_.size());
        double slope = 0.0, curvature = 0.0;
        for (std::size_t k = 0; k < face_.size(); ++k) {
            const auto& [i, piece] = face_[k];
            double change = 0.0;
            for (std::size_t a = 0; a < K; ++a) change += x[a] * moves_[a][i];
            const double theta = rows_[i].theta, next = clip(theta + change, piece.lower, piece.upper);
            if (next != theta + change) add(i, next - (theta + change), direction_.data());
            change_[k] = next - theta;
            slope += change_[k] * (residual_.empty() ? -rows_[i].weight * piece.slope : residual_[k]);
            curvature += rows_[i].weight * piece.curvature * change_[k] * change_[k];
        }
        const auto [along, length_square] = dot_and_square(direction_.data(), v_.data(), d_ + 1);
        if (residual_.empty()) slope -= alpha_ * along;
        const double square = alpha_ * length_square;
        curvature += square;
        double magnified = 0.0;
        for (std::size_t a = 0; a < K; ++a) magnified += std::fabs(x[a]) * reach[a];
        if (!(slope > 0.0) || square <= 1e-12 * magnified * magnified) return;
        const double length = curvature > 0.0 ? std::min(1.0, slope / curvature) : 1.0;
        for (std::size_t k = 0; k < face_.size(); ++k) {
            const auto& [i, piece] = face_[k];
            const double next = clip(rows_[i].theta + length * change_[k], piece.lower, piece.upper);
            moves_[K - 1][i] += next - rows_[i].theta;
            rows_[i].theta = next;
        }
        dense_axpy_twice(length, direction_.data(), v_.data(), v_moves_[K - 1].data(), d_ + 1);
    }

    const Loss loss_;
    const M matrix_;
    const std::size_t n_, d_;
    const double alpha_, constant_;
    std::vector<Row> rows_;
    std::vector<double> v_;
    double offset_;
    Xorshift random_;

    std::vector<std::uint32_t> order_, blocks_, left_out_;  // order_: the active rows first
    std::vector<unsigned char> rests_, would_move_;
    std::size_t n_active_ = 0, n_resting_ = 0;
    std::vector<double> norms_, v_seen_, z_seen_, way_seen_;  // of the rows; at the last looks at them
    double way_ = 0.0;                                        // that v has gone, from look to look
    double largest_violation_ = std::numeric_limits<double>::infinity();
    double patience_ = 0.7, target_ = std::numeric_limits<double>::infinity();
    double last_gap_ = -1.0, first_estimate_ = -1.0, last_estimate_ = 0.0;

    bool accelerating_ = false;
    int n_moves_ = 0;
    Moves moves_, v_moves_;
    std::vector<double> theta_before_, v_before_, residual_, direction_, change_;
    std::vector<std::pair<std::size_t, Piece>> face_;
};

}  // namespace skpd
