// The subspace of the moves of the last epochs of dual descent for the loss of Crammer and Singer, in which the
// dual is maximised at once: see `move_subspace.hpp`, which does the same for losses of a single score.
//
// The face are the rows with several classes in p_i, as long as the moves stay among these classes. On it the dual
// is a parabola: a combination x of the moves P_a of p and Q_a of W changes it by g . x - x' H x / 2, with
//
//     H_ab = alpha Q_a . Q_b,    g_a = sum_i c_i G_i . P_ai = -alpha Q_a . W + sum_i c_i sum over k not y(i) of P_aik
//
// and is taken as far as the simplices go.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maths/small_system.hpp"
#include "methods/active_rows.hpp"
#include "methods/class_iterate.hpp"
#include "methods/move_vectors.hpp"

namespace skpd {

template <class M>
class ClassMoves {
   public:
    using Iterate = ClassIterate<M>;

    void forget() {
        n_moves_ = 0;
        for (auto& move : moves_) std::fill(move.begin(), move.end(), 0.0);
    }

    // Where an epoch starts
    void begin_move(const Iterate& iterate, const ActiveRows& active) {
        p_before_.resize(iterate.p.size());
        for (auto& move : moves_) move.resize(iterate.p.size(), 0.0);
        for (std::size_t place = 0; place < active.size(); ++place) {
            const std::size_t first = active[place] * iterate.stride;
            std::copy_n(iterate.p.data() + first, iterate.stride, p_before_.data() + first);
        }
        W_before_ = iterate.W;
    }

    // Adds the move of the epoch that ends, and moves the iterate to the best point of the subspace. Returns the
    // largest |change of p_ik| / step_i.
    double end_move(Iterate& iterate, const ActiveRows& active) {
        add_move(iterate);
        const std::size_t n_left = find_face(iterate, active);
        if (!face_.empty() && n_left <= std::max<std::size_t>(3, face_.size() / 10)) return climb(iterate);
        forget();
        return 0.0;
    }

   private:
    static constexpr std::size_t most = 3;        // moves
    static constexpr double cancels = 1e-12;      // share of a squared reach that is rounding
    static constexpr double off = 1e-10;  // by which a combination of moves may leave a simplex: it magnifies rounding
    static constexpr double all_rounding = 1e-14;  // share of the terms of a gradient that is
    using Coefficients = std::array<double, most>;

    // The dual as a function of the combination of the moves
    struct Quadratic {
        SmallMatrix<most> H{};  // its lower triangle
        Coefficients g{};
        Coefficients reach{};  // sum_i ||P_ai|| ||c_i x_i|| / alpha^(1/2): at least alpha^(1/2) ||Q_a||
    };

    void add_move(const Iterate& iterate) {
        if (n_moves_ == most) {  // the oldest makes room
            std::rotate(moves_.begin(), moves_.begin() + 1, moves_.end());
            std::rotate(W_moves_.begin(), W_moves_.begin() + 1, W_moves_.end());
            --n_moves_;
        }
        auto& W_move = W_moves_[n_moves_++];
        W_move.resize(iterate.W.size());
        for (std::size_t j = 0; j < W_move.size(); ++j) W_move[j] = iterate.W[j] - W_before_[j];
    }

    // The active rows whose moves stay among their classes. What the others have moved is taken out of all moves;
    // returns how many of them had moved.
    std::size_t find_face(Iterate& iterate, const ActiveRows& active) {
        face_.clear();
        std::size_t n_left = 0;
        const std::size_t stride = iterate.stride;
        for (std::size_t place = 0; place < active.size(); ++place) {
            const std::size_t i = active[place], first = i * stride;
            const double* p = iterate.point(i);
            double* last = moves_[n_moves_ - 1].data() + first;
            bool moved = false, leaves = false;
            for (std::size_t k = 0; k < stride; ++k) {
                last[k] = p[k] - p_before_[first + k];
                for (std::size_t a = 0; a < n_moves_; ++a) {
                    const bool moves = moves_[a][first + k] != 0.0;
                    moved |= moves;
                    leaves |= moves && p[k] == 0.0;
                }
            }
            if (moved && !leaves) face_.push_back(static_cast<std::uint32_t>(i));
            if (!leaves) continue;
            ++n_left;
            for (std::size_t a = 0; a < n_moves_; ++a) take_out(iterate, i, a);
        }
        return n_left;
    }

    // Takes a row out of a move.
    void take_out(Iterate& iterate, std::size_t i, std::size_t a) {
        double* move = moves_[a].data() + i * iterate.stride;
        if (std::all_of(move, move + iterate.stride, [](double change) { return change == 0.0; })) return;
        for (std::size_t k = 0; k < iterate.stride; ++k) move[k] = -move[k];
        iterate.add(i, move, W_moves_[a].data());
        std::fill_n(move, iterate.stride, 0.0);
    }

    double climb(Iterate& iterate) {
        Quadratic dual;
        if (!expand(iterate, dual)) {
            forget();
            return 0.0;
        }
        Coefficients x{};
        solve_small(dual.H, dual.g, x, n_moves_);
        double slope = direction(iterate, x);
        if (!(most_off_ <= off)) {
            forget();
            return 0.0;
        }
        const auto [along, square] = dot_and_square(direction_.data(), iterate.W.data(), iterate.W.size());
        if (rivals_.empty()) slope -= iterate.alpha * along;
        double magnified = 0.0;
        for (std::size_t a = 0; a < n_moves_; ++a) magnified += std::fabs(x[a]) * dual.reach[a];
        const double curvature = iterate.alpha * square;
        if (!(slope > 0.0) || curvature <= cancels * magnified * magnified) return 0.0;
        return move(iterate, std::min(1.0, slope / curvature));
    }

    // The moves of W, the last of them again where there are fewer
    std::array<const double*, most> W_moves() const {
        std::array<const double*, most> Q{};
        for (std::size_t a = 0; a < most; ++a) Q[a] = W_moves_[std::min(a, n_moves_ - 1)].data();
        return Q;
    }

    // The sum over the classes but the own, of which theirs is minus the sum
    static double of_others(const double* change, std::uint32_t own) { return -change[own]; }

    // The quadratic. False where the last move is rounding for the most part.
    bool expand(const Iterate& iterate, Quadratic& dual) {
        const std::size_t last = n_moves_ - 1, stride = iterate.stride;
        const auto Q = W_moves();
        const MoveProducts products = move_products(iterate.W.data(), Q[0], Q[1], Q[2], iterate.W.size());
        double size = iterate.alpha * products.square;  // of the terms of the gradient along the last move
        if (iterate.alpha * products.among[last][last] <= 1e-20 * size) return false;
        for (std::size_t a = 0; a < n_moves_; ++a) {
            dual.g[a] = -iterate.alpha * products.with_v[a];
            for (std::size_t b = 0; b <= a; ++b) dual.H[a][b] = iterate.alpha * products.among[a][b];
        }
        for (const std::uint32_t i : face_) {
            const ClassRow& row = iterate.rows[i];
            const double norm = std::sqrt(row.weight / row.step);
            for (std::size_t a = 0; a < n_moves_; ++a) {
                const double* change = moves_[a].data() + i * stride;
                double square = 0.0;
                for (std::size_t k = 0; k < stride; ++k) square += change[k] * change[k];
                const double linear = row.weight * of_others(change, row.own);
                dual.reach[a] += std::sqrt(square) * norm;
                dual.g[a] += linear;
                if (a == last) size += std::fabs(linear);
            }
        }
        // near the end the terms of the gradient cancel and leave the rounding of W
        rivals_.clear();
        if (dual.H[last][last] <= all_rounding * size) gradient_from_rivals(iterate, dual.g);
        // moves that cancel in W leave its rounding alone, which must not be magnified
        for (std::size_t a = 0; a < n_moves_; ++a)
            if (dual.H[a][a] <= cancels * dual.reach[a] * dual.reach[a]) dual.H[a][a] = 0.0;
        return true;
    }

    // The same gradient from c_i G_i, at the cost of the scores of every row.
    void gradient_from_rivals(const Iterate& iterate, Coefficients& g) {
        g.fill(0.0);
        const std::size_t stride = iterate.stride;
        rivals_.resize(face_.size() * stride + iterate.stride);
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const std::size_t i = face_[m];
            double* G = rivals_.data() + m * stride;
            iterate.rivals(i, G);
            const double* p = iterate.point(i);
            double mean = 0.0;  // moves add up to 0 in each row: a number off all scores saves digits
            for (std::size_t k = 0; k < stride; ++k) mean += p[k] * G[k];
            for (std::size_t k = 0; k < stride; ++k) {
                G[k] = iterate.rows[i].weight * (G[k] - mean);
                for (std::size_t a = 0; a < n_moves_; ++a) g[a] += G[k] * moves_[a][i * stride + k];
            }
        }
    }

    // The combination x of the moves, shortened where simplices end; returns the slope along it but for the part
    // of W, or all of it where the rivals' scores are known.
    double direction(Iterate& iterate, const Coefficients& x) {
        const auto Q = W_moves();
        const std::size_t stride = iterate.stride;
        direction_.resize(iterate.W.size());
        combine(x, Q[0], Q[1], Q[2], direction_.data(), direction_.size());
        change_.resize(face_.size() * stride);
        cut_.resize(stride);
        double slope = 0.0;
        most_off_ = 0.0;
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const std::size_t i = face_[m], first = i * stride;
            const double* p = iterate.point(i);
            double *change = change_.data() + m * stride, length = 1.0, sum = 0.0;
            for (std::size_t k = 0; k < stride; ++k) {
                change[k] = 0.0;
                for (std::size_t a = 0; a < n_moves_; ++a) change[k] += x[a] * moves_[a][first + k];
                sum += change[k];
                if (p[k] + change[k] < 0.0) length = std::min(length, -p[k] / change[k]);
            }
            most_off_ = std::max(most_off_, std::fabs(sum));
            if (length < 1.0) {
                for (std::size_t k = 0; k < stride; ++k) {
                    cut_[k] = (length - 1.0) * change[k];
                    change[k] *= length;
                }
                iterate.add(i, cut_.data(), direction_.data());
            }
            if (rivals_.empty()) {
                slope += iterate.rows[i].weight * of_others(change, iterate.rows[i].own);
            } else {
                for (std::size_t k = 0; k < stride; ++k) slope += rivals_[m * stride + k] * change[k];
            }
        }
        return slope;
    }

    // Moves the iterate by a multiple of the direction, which becomes a part of the last move.
    double move(Iterate& iterate, double length) {
        const std::size_t stride = iterate.stride;
        double largest = 0.0;
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const double* change = change_.data() + m * stride;
            double* p = iterate.point(face_[m]);
            double *last = moves_[n_moves_ - 1].data() + face_[m] * stride, most_moved = 0.0;
            for (std::size_t k = 0; k < stride; ++k) {
                const double next = std::max(p[k] + length * change[k], 0.0);
                most_moved = std::max(most_moved, std::fabs(next - p[k]));
                last[k] += next - p[k];
                p[k] = next;
            }
            iterate.note(face_[m]);
            largest = std::max(largest, most_moved / iterate.rows[face_[m]].step);
        }
        dense_axpy_twice(length, direction_.data(), iterate.W.data(), W_moves_[n_moves_ - 1].data(),
                         iterate.W.size());
        return largest;
    }

    std::size_t n_moves_ = 0;
    std::array<Numbers, most> moves_, W_moves_;  // P_a and Q_a, the last one last
    Numbers p_before_, W_before_;
    std::vector<std::uint32_t> face_;
    Numbers rivals_;              // c_i G_i of the face, if needed
    Numbers direction_, change_;  // of W, and of p on the face
    Numbers cut_;
    double most_off_ = 0.0;  // the largest |sum_k change_ik|
};

}  // namespace skpd
