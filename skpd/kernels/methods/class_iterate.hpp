// The iterate of dual coordinate descent for the loss of Crammer and Singer (Keerthi, Sundararajan, Chang, Hsieh and
// Lin, 2008): a point p_i of the simplex for each row i < n, and the coefficients v (d + 1, stride) that these give,
//
//   v = e offsets' - (1 / alpha) sum_i c_i (x_i, s) (p_i - e_y(i))',
//
// with a row for each feature and for the constant one s, padded with zeros; e is the last unit vector. The dual value
// is
//
//   D = sum_i c_i sum over k not y(i) of p_ik - (alpha / 2) ||v||^2,
//
// whose gradient in p_i, over c_i, are the rivals' scores G_ik = (x_i, s) . v_k + [k is not y(i)].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/class_score_products.hpp"
#include "methods/dual_iterate.hpp"

namespace skpd {

struct ClassRow {
    double weight, step;  // step = alpha / (c_i ||(x_i, s)||^2)
    std::uint32_t label;    // y(i)
    std::uint32_t whole;  // the class k with p_ik = 1, or `several`
};
constexpr std::uint32_t several = 0xffffffff;

// -c_i sum over k not y(i) of p_ik, of moves that add up to 0
struct ClassPiece {
    static constexpr double curvature = 0.0;
    double weight;
    std::uint32_t label;
    double along(const double* change) const { return weight * change[label]; }
};

// max_k G_k over the classes of a row; the padding of G (stride) is -inf
SKPD_CLONES inline double largest_of(const double* G, std::size_t stride) {
    double largest = G[0];
#pragma omp simd reduction(max : largest)
    for (std::size_t k = 0; k < stride; ++k) largest = std::max(largest, G[k]);
    return largest;
}
// v = p + step (G - max_score), with its largest entry and the gap sum_k p_k (max_score - G_k); all vectors have the
// length stride. A number subtracted from all scores changes no result and saves digits. The padding, where G is -inf,
// is left out of the gap.
struct Ascent {
    double largest, gap;
};
SKPD_CLONES inline Ascent ascend(const double* p, const double* G, double max_score, double step, double* v,
                                 std::size_t stride) {
    double largest = -std::numeric_limits<double>::infinity(), gap = 0.0;
#pragma omp simd reduction(max : largest) reduction(+ : gap)
    for (std::size_t k = 0; k < stride; ++k) {
        const double deficit = max_score - G[k];
        v[k] = p[k] - step * deficit;
        largest = std::max(largest, v[k]);
        gap += p[k] > 0.0 ? p[k] * deficit : 0.0;
    }
    return {largest, gap};
}

struct ClassIterate {
    static constexpr bool quadratic_pieces = true;

    const MajorVectors matrix;
    const std::size_t n, n_classes, stride;
    const double alpha, constant;
    std::vector<ClassRow> rows;
    Numbers p;  // of shape (n, stride)
    Numbers v;  // of shape (n_features + 1, stride)

    // y (n, n_classes) is 1 for the class of each row and 0 elsewhere, and theta (n, n_classes) is the dual point to
    // start from; weights (n), offsets (n_classes).
    ClassIterate(const MajorVectors& matrix, const double* y, std::size_t n_classes, const double* weights, const double* theta,
                 double alpha, double constant, const double* offsets)
        : matrix(matrix), n(matrix.n_major), n_classes(n_classes), stride(padded(n_classes)), alpha(alpha),
          constant(constant), rows(n), p(n * stride), v((matrix.n_minor + 1) * stride), offsets_(stride),
          ahead_(stride, -infinity), G_(stride), change_(stride), scaled_(stride), ascent_(stride) {
        std::copy_n(offsets, n_classes, offsets_.begin());
        std::fill_n(ahead_.begin(), n_classes, 1.0);
        candidates_.reserve(n_classes);
        for (std::size_t i = 0; i < n; ++i, y += n_classes, theta += n_classes) {
            const auto label = static_cast<std::uint32_t>(std::max_element(y, y + n_classes) - y);
            rows[i] = {weights[i], alpha / (weights[i] * (constant * constant + matrix.square(i))), label, several};
            if (std::isfinite(rows[i].step)) {
                for (std::size_t k = 0; k < n_classes; ++k) point(i)[k] = std::max(theta[k], 0.0);
                point(i)[label] = std::max(1.0 - of_others(i), 0.0);
            } else {  // all scores are 0 for every v, and some other class leads by 1
                point(i)[label == 0 && n_classes > 1 ? 1 : 0] = 1.0;
            }
            note(i);
        }
    }

    double* point(std::size_t i) { return p.data() + i * stride; }
    const double* point(std::size_t i) const { return p.data() + i * stride; }

    // table -= (c_i / alpha) (x_i, s) change', the change of v that follows from a change of p_i; table (d + 1, stride)
    void add(std::size_t i, const double* change, double* table) {
        const double a = -rows[i].weight / alpha;
        for (std::size_t k = 0; k < stride; ++k) scaled_[k] = a * change[k];
        add_outer(matrix, i, scaled_.data(), table, stride);
        double* last = table + matrix.n_minor * stride;
        for (std::size_t k = 0; k < stride; ++k) last[k] += constant * scaled_[k];
    }

    // Moves p_i to the maximum of the dual along it. The row rests if no change of the differences of its scores by at
    // most the slack would move it.
    Visit visit(std::size_t i, double slack) {
        rivals(i, G_.data());
        if (const double lead = this->lead(i); lead >= 0.0) return {0.0, 0.0, lead > slack};
        const Ascent ascent = move(i);
        if (ascent.largest != 0.0) add(i, change_.data(), v.data());
        return {rows[i].weight * ascent.gap, ascent.largest / rows[i].step, false};
    }

    // Returns what a visit would, without a move.
    Visit look(std::size_t i) {
        rivals(i, G_.data());
        if (lead(i) >= 0.0) return {0.0, 0.0, true};
        const Ascent ascent = ascend(point(i), G_.data(), largest_of(G_.data(), stride), 0.0, ascent_.data(), stride);
        return {rows[i].weight * ascent.gap, 0.0, false};
    }

    // offsets <- the last row of v; returns the sum over the classes of |sum_i c_i theta_ik|.
    double recentre() {
        double sum = 0.0, *last = v.data() + matrix.n_minor * stride;
        for (std::size_t k = 0; k < stride; ++k) {
            const double moved = last[k] - std::exchange(offsets_[k], last[k]);
            sum += std::fabs(moved);
            last[k] += moved;
        }
        return alpha / constant * sum;
    }
    // Computes v from p_i of the given rows, which must include all with p_i != e_y(i).
    void refresh(const std::vector<std::uint32_t>& row_indices) {
        std::fill(v.begin(), v.end(), 0.0);
        std::copy(offsets_.begin(), offsets_.end(), v.end() - stride);
        for (const std::uint32_t i : row_indices) {
            if (rows[i].whole == rows[i].label) continue;
            std::copy_n(point(i), stride, change_.data());
            change_[rows[i].label] = -of_others(i);
            add(i, change_.data(), v.data());
        }
    }
    std::vector<double> theta() const {
        std::vector<double> out(n * n_classes);
        for (std::size_t i = 0; i < n; ++i) {
            std::copy_n(point(i), n_classes, out.data() + i * n_classes);
            out[i * n_classes + rows[i].label] -= 1.0;
        }
        return out;
    }

    // The following members are those that `MoveSubspace` calls. The face consists of the rows with several classes in
    // p_i, as long as the moves P, Q and R (stride) stay among these classes.

    bool has_faces() const { return true; }
    ClassPiece piece(std::size_t i) const { return {rows[i].weight, rows[i].label}; }
    bool stays_on_face(std::size_t i, const ClassPiece&, const double* P, const double* Q, const double* R) const {
        bool any = false, leaves = false;
        for (std::size_t k = 0; k < stride; ++k) {
            const bool moves = (P[k] != 0.0) | (Q[k] != 0.0) | (R[k] != 0.0);
            any |= moves;
            leaves |= moves & (point(i)[k] == 0.0);
        }
        return any && !leaves;
    }
    // out = c_i (G_i - p_i . G_i), the derivative of the dual; a number subtracted from all entries changes nothing, as
    // moves add up to 0
    void gradient(std::size_t i, double* out) const {
        rivals(i, out);
        double mean = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) mean += point(i)[k] * out[k];
        for (std::size_t k = 0; k < stride; ++k) out[k] = k < n_classes ? rows[i].weight * (out[k] - mean) : 0.0;
    }
    // Shortens a change that would make an entry of p_i negative, and makes it add up to 0; writes the difference, and
    // returns whether it exceeds rounding.
    bool shorten(std::size_t i, const ClassPiece& piece, double* change, double* added) const {
        double sum = 0.0, length = 1.0;
        const double* p_i = point(i);
        for (std::size_t k = 0; k < stride; ++k) {
            sum += change[k];
            if (p_i[k] + change[k] < 0.0) length = std::min(length, -p_i[k] / change[k]);
        }
        if (length == 1.0 && std::fabs(sum) <= off) return false;
        for (std::size_t k = 0; k < stride; ++k) {
            const double next = length * (change[k] - (k == piece.label ? sum : 0.0));
            added[k] = next - change[k];
            change[k] = next;
        }
        return true;
    }
    // p_i += length change; moved += the change.
    void advance(std::size_t i, const ClassPiece&, double length, const double* change, double* moved) {
        double* p_i = point(i);
        for (std::size_t k = 0; k < stride; ++k) {
            const double next = std::max(p_i[k] + length * change[k], 0.0);
            moved[k] += next - p_i[k];
            p_i[k] = next;
        }
        note(i);
    }

   private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double off = 1e-14;  // a change may leave the simplex by this much: combinations magnify rounding

    // Sets `whole` after a change of p_i.
    void note(std::size_t i) {
        const double* p_i = point(i);
        rows[i].whole = several;
        for (std::size_t k = 0; k < n_classes; ++k)
            if (p_i[k] == 1.0) rows[i].whole = static_cast<std::uint32_t>(k);
    }

    // sum over k not y(i) of p_ik
    double of_others(std::size_t i) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) sum += k == rows[i].label ? 0.0 : point(i)[k];
        return sum;
    }

    // G_i (stride), with -inf in the padding
    void rivals(std::size_t i, double* G) const {
        scores(matrix, i, v.data(), stride, G);
        const double* last = v.data() + matrix.n_minor * stride;
        for (std::size_t k = 0; k < stride; ++k) G[k] += ahead_[k] + constant * last[k];
        G[rows[i].label] -= 1.0;
    }

    // G_ik minus the largest other score, for the class k with p_ik = 1; -inf if there is no such class
    double lead(std::size_t i) {
        const std::uint32_t whole = rows[i].whole;
        if (whole == several) return -infinity;
        const double first = std::exchange(G_[whole], -infinity);
        const double second = largest_of(G_.data(), stride);
        G_[whole] = first;
        return first - second;
    }

    // Moves p_i to the maximum of the dual along it, which is the point of the simplex nearest to p_i + step G_i. It is
    // found by subtracting the mean excess from the remaining classes until none is below 0 (Michelot, 1986). Writes
    // the change; returns its largest entry, and max_k G_ik - p_i . G_i before the move, which is the gap of the row
    // over c_i.
    Ascent move(std::size_t i) {
        double* p_i = point(i);
        const auto [largest, gap] = ascend(p_i, G_.data(), largest_of(G_.data(), stride), rows[i].step,
                                             ascent_.data(), stride);
        candidates_.clear();
        double sum = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) {
            if (!(ascent_[k] > largest - 1.0)) continue;  // these are below any threshold
            candidates_.push_back(static_cast<std::uint32_t>(k));
            sum += ascent_[k];
        }
        if (candidates_.empty()) return {0.0, gap};  // scores have overflowed
        double threshold = largest - 1.0;
        while (candidates_.size() > 1) {
            threshold = (sum - 1.0) / static_cast<double>(candidates_.size());
            const std::size_t before = candidates_.size();
            std::erase_if(candidates_, [&](std::uint32_t k) { return !(ascent_[k] > threshold); });
            if (candidates_.size() == before) break;
            sum = 0.0;
            for (const std::uint32_t k : candidates_) sum += ascent_[k];
        }
        for (std::size_t k = 0; k < n_classes; ++k) change_[k] = -p_i[k];
        std::fill_n(p_i, n_classes, 0.0);
        const bool alone = candidates_.size() == 1;
        for (const std::uint32_t k : candidates_) {
            p_i[k] = alone ? 1.0 : ascent_[k] - threshold;
            change_[k] += p_i[k];
        }
        rows[i].whole = alone ? candidates_[0] : several;
        double max_change = 0.0;
        for (std::size_t k = 0; k < n_classes; ++k) max_change = std::max(max_change, std::fabs(change_[k]));
        return {max_change, gap};
    }

    Numbers offsets_;  // the last row of v at the centre of the proximal term
    Numbers ahead_;  // 1 for each class, and -inf in the padding
    Numbers G_, change_;  // G and the change of the present row
    Numbers scaled_;  // a multiple of a change, and 0 in the padding
    Numbers ascent_;      // p_i + step (G_i - max_k G_ik)
    std::vector<std::uint32_t> candidates_;
};

}  // namespace skpd
