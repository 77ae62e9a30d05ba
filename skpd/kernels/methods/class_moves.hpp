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

// Loops over the classes of a row, with its last moves P, Q and R

// R = p - before; whether any of the moves is not 0, and whether one is where p is 0
struct Moved {
    int any, leaves;
};
SKPD_CLONES inline Moved follow(const double* p, const double* before, const double* P, const double* Q, double* R,
                                std::size_t stride) {
    int any = 0, leaves = 0;
#pragma omp simd reduction(| : any, leaves)
    for (std::size_t k = 0; k < stride; ++k) {
        R[k] = p[k] - before[k];
        const int moves = (P[k] != 0.0) | (Q[k] != 0.0) | (R[k] != 0.0);
        any |= moves;
        leaves |= moves & (p[k] == 0.0);
    }
    return {any, leaves};
}
// change = x_0 P + x_1 Q + x_2 R; its sum, and how much of it p may take until an entry is 0, at most 1
struct Change {
    double sum, length;
};
SKPD_CLONES inline Change combine_row(const std::array<double, 3>& x, const double* p, const double* P, const double* Q,
                                      const double* R, double* change, std::size_t stride) {
    const double a = x[0], b = x[1], c = x[2];
    double sum = 0.0, length = 1.0;
#pragma omp simd reduction(+ : sum) reduction(min : length)
    for (std::size_t k = 0; k < stride; ++k) {
        change[k] = a * P[k] + b * Q[k] + c * R[k];
        sum += change[k];
        length = std::min(length, p[k] + change[k] < 0.0 ? -p[k] / change[k] : 1.0);
    }
    return {sum, length};
}
SKPD_CLONES inline double sum_of_sizes(const double* change, std::size_t stride) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < stride; ++k) sum += std::fabs(change[k]);
    return sum;
}

template <class M>
class ClassMoves {
   public:
    using Iterate = ClassIterate<M>;

    void forget() {
        for (auto* moves : {&moves_, &W_moves_})
            for (auto& move : *moves) std::fill(move.begin(), move.end(), 0.0);
    }

    // Stores the iterate at the start of an epoch
    void begin_move(const Iterate& iterate, const ActiveRows& active) {
        p_before_.resize(iterate.p.size());
        for (auto& move : moves_) move.resize(iterate.p.size(), 0.0);
        for (auto& move : W_moves_) move.resize(iterate.W.size(), 0.0);
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
    static constexpr std::size_t most = 3, last = most - 1;  // moves, of which those forgotten are 0
    static constexpr double cancels = 1e-12;  // share of a squared reach that is rounding
    static constexpr double off = 1e-10;  // by which a combination of moves may leave a simplex: it magnifies rounding
    static constexpr double all_rounding = 1e-14;  // share of the terms of a gradient that is
    using Coefficients = std::array<double, most>;

    // The dual as a function of the combination of the moves
    struct Quadratic {
        SmallMatrix<most> H{};  // its lower triangle
        Coefficients g{};
        Coefficients reach{};  // sum_i ||P_ai||_1 ||c_i x_i|| / alpha^(1/2): at least alpha^(1/2) ||Q_a||
    };

    void add_move(const Iterate& iterate) {  // the oldest makes room
        std::rotate(moves_.begin(), moves_.begin() + 1, moves_.end());
        std::rotate(W_moves_.begin(), W_moves_.begin() + 1, W_moves_.end());
        Numbers& move = W_moves_[last];
        for (std::size_t j = 0; j < move.size(); ++j) move[j] = iterate.W[j] - W_before_[j];
    }

    // The active rows whose moves stay among their classes. What the others have moved is taken out of all moves;
    // returns how many of them had moved.
    std::size_t find_face(Iterate& iterate, const ActiveRows& active) {
        face_.clear();
        std::size_t n_left = 0;
        for (std::size_t place = 0; place < active.size(); ++place) {
            const std::size_t i = active[place], first = i * iterate.stride;
            const auto [any, leaves] = follow(iterate.point(i), p_before_.data() + first, moves_[0].data() + first,
                                              moves_[1].data() + first, moves_[2].data() + first, iterate.stride);
            if (any && !leaves) face_.push_back(static_cast<std::uint32_t>(i));
            if (!leaves) continue;
            ++n_left;
            for (std::size_t a = 0; a < most; ++a) take_out(iterate, i, a);
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
        solve_small(dual.H, dual.g, x);
        double slope = direction(iterate, x);
        if (!(most_off_ <= off)) {
            forget();
            return 0.0;
        }
        const auto [along, square] = dot_and_square(direction_.data(), iterate.W.data(), iterate.W.size());
        if (rivals_.empty()) slope -= iterate.alpha * along;
        double magnified = 0.0;
        for (std::size_t a = 0; a < most; ++a) magnified += std::fabs(x[a]) * dual.reach[a];
        const double curvature = iterate.alpha * square;
        if (!(slope > 0.0) || curvature <= cancels * magnified * magnified) return 0.0;
        return move(iterate, std::min(1.0, slope / curvature));
    }

    // The sum over the classes but the own, of which theirs is minus the sum
    static double of_others(const double* change, std::uint32_t own) { return -change[own]; }

    // The quadratic. False where the last move is rounding for the most part.
    bool expand(const Iterate& iterate, Quadratic& dual) {
        const std::size_t stride = iterate.stride;
        const MoveProducts products = move_products(iterate.W.data(), W_moves_[0].data(), W_moves_[1].data(),
                                                    W_moves_[2].data(), iterate.W.size());
        double size = iterate.alpha * products.square;  // of the terms of the gradient along the last move
        if (iterate.alpha * products.among[last][last] <= 1e-20 * size) return false;
        for (std::size_t a = 0; a < most; ++a) {
            dual.g[a] = -iterate.alpha * products.with_v[a];
            for (std::size_t b = 0; b <= a; ++b) dual.H[a][b] = iterate.alpha * products.among[a][b];
        }
        for (const std::uint32_t i : face_) {
            const ClassRow& row = iterate.rows[i];
            const double norm = std::sqrt(row.weight / row.step);
            for (std::size_t a = 0; a < most; ++a) {
                const double* change = moves_[a].data() + i * stride;
                const double linear = row.weight * of_others(change, row.own);
                dual.reach[a] += sum_of_sizes(change, stride) * norm;
                dual.g[a] += linear;
                if (a == last) size += std::fabs(linear);
            }
        }
        // near the end the terms of the gradient cancel and leave the rounding of W
        rivals_.clear();
        if (dual.H[last][last] <= all_rounding * size) gradient_from_rivals(iterate, dual.g);
        // moves that cancel in W leave its rounding alone, which must not be magnified
        for (std::size_t a = 0; a < most; ++a)
            if (dual.H[a][a] <= cancels * dual.reach[a] * dual.reach[a]) dual.H[a][a] = 0.0;
        return true;
    }

    // The gradient along the moves from c_i G_i, at the cost of the scores of every row.
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
                for (std::size_t a = 0; a < most; ++a) g[a] += G[k] * moves_[a][i * stride + k];
            }
        }
    }

    // The combination x of the moves, shortened where simplices end; returns the slope along it but for the part
    // of W, or all of it where the rivals' scores are known.
    double direction(Iterate& iterate, const Coefficients& x) {
        const std::size_t stride = iterate.stride;
        direction_.resize(iterate.W.size());
        combine(x, W_moves_[0].data(), W_moves_[1].data(), W_moves_[2].data(), direction_.data(), direction_.size());
        change_.resize(face_.size() * stride);
        cut_.resize(stride);
        double slope = 0.0;
        most_off_ = 0.0;
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const std::size_t i = face_[m], first = i * stride;
            double* change = change_.data() + m * stride;
            const auto [sum, length] = combine_row(x, iterate.point(i), moves_[0].data() + first,
                                                   moves_[1].data() + first, moves_[2].data() + first, change, stride);
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
            double *moved = moves_[last].data() + face_[m] * stride, most_moved = 0.0;
            for (std::size_t k = 0; k < stride; ++k) {
                const double next = std::max(p[k] + length * change[k], 0.0);
                most_moved = std::max(most_moved, std::fabs(next - p[k]));
                moved[k] += next - p[k];
                p[k] = next;
            }
            iterate.note(face_[m]);
            largest = std::max(largest, most_moved / iterate.rows[face_[m]].step);
        }
        dense_axpy_twice(length, direction_.data(), iterate.W.data(), W_moves_[last].data(),
                         iterate.W.size());
        return largest;
    }

    std::array<Numbers, most> moves_, W_moves_;  // P_a and Q_a, the last one last
    Numbers p_before_, W_before_;
    std::vector<std::uint32_t> face_;
    Numbers rivals_;              // c_i G_i of the face, if needed
    Numbers direction_, change_;  // of W, and of p on the face
    Numbers cut_;
    double most_off_ = 0.0;  // the largest |sum_k change_ik|
};

}  // namespace skpd
