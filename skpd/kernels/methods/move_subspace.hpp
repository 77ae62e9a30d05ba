// The subspace of the moves of the last epochs of dual coordinate descent, in which the dual is
// maximised at once. That cures the slow creeping of coordinates that hold each other back.
//
// The face are the rows with theta_i inside a piece of l*(y_i, .), where the conjugate is a
// parabola; the others stay where they are. A combination x of the moves p_a of theta and q_a of v
// changes the dual by g . x - x' H x / 2, with
//
//     H_ab = alpha q_a . q_b + sum_i c_i curvature_i p_ai p_bi
//     g_a  = -alpha q_a . v - sum_i c_i slope_i p_ai = sum_i c_i (z_i - slope_i) p_ai
//
// over the rows i of the face, and is taken as far as the face goes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "maths/losses.hpp"
#include "maths/small_system.hpp"
#include "methods/active_rows.hpp"
#include "methods/dual_iterate.hpp"
#include "methods/move_vectors.hpp"

namespace skpd {

template <class Loss, class M>
class MoveSubspace {
   public:
    using Iterate = DualIterate<Loss, M>;

    void forget() {
        n_moves_ = 0;
        for (auto& move : moves_) std::fill(move.begin(), move.end(), 0.0);
    }

    // Stores the iterate at the start of an epoch
    void begin_move(const Iterate& iterate, const ActiveRows& active) {
        theta_before_.resize(iterate.n);
        for (auto& move : moves_) move.resize(iterate.n, 0.0);
        for (std::size_t place = 0; place < active.size(); ++place)
            theta_before_[active[place]] = iterate.rows[active[place]].theta;
        v_before_ = iterate.v;
    }

    // Adds the move of the epoch that ends, and moves the iterate to the best point of the subspace.
    void end_move(Iterate& iterate, const ActiveRows& active) {
        add_move(iterate);
        const std::size_t n_left = find_face(iterate, active);
        if (face_.empty() || n_left > std::max<std::size_t>(3, face_.size() / 10)) return forget();
        climb(iterate);
    }

   private:
    static constexpr std::size_t most = 3;  // moves
    using Coefficients = std::array<double, most>;

    // The dual as a function of the combination of the moves
    struct Quadratic {
        SmallMatrix<most> H{};  // its lower triangle
        Coefficients g{};
        Coefficients reach{};  // sum_i |p_ai| ||c_i (x_i, s)|| / alpha^(1/2): at least alpha^(1/2) ||q_a||
    };
    // The dual along the direction
    struct Line {
        double slope = 0.0, curvature = 0.0;
        double square = 0.0;  // alpha times the squared length of the direction
    };

    void add_move(const Iterate& iterate) {
        if (n_moves_ == most) {  // the oldest makes room
            std::rotate(moves_.begin(), moves_.begin() + 1, moves_.end());
            std::rotate(v_moves_.begin(), v_moves_.begin() + 1, v_moves_.end());
            --n_moves_;
        }
        auto& v_move = v_moves_[n_moves_++];
        v_move.resize(iterate.d + 1);
        for (std::size_t j = 0; j <= iterate.d; ++j) v_move[j] = iterate.v[j] - v_before_[j];
    }

    // The active rows inside a piece. What the others have moved is taken out of all moves; returns
    // how many of them had moved.
    std::size_t find_face(const Iterate& iterate, const ActiveRows& active) {
        face_.clear();
        std::size_t n_left = 0;
        for (std::size_t place = 0; place < active.size(); ++place) {
            const std::size_t i = active[place];
            const DualDescentRow& row = iterate.rows[i];
            moves_[n_moves_ - 1][i] = row.theta - theta_before_[i];
            const Piece piece = dual_piece(iterate.loss, row.y, row.theta);
            if (piece.inside) {
                face_.push_back({i, piece});
                continue;
            }
            bool left = false;
            for (std::size_t a = 0; a < n_moves_; ++a) {
                double& change = moves_[a][i];
                if (change == 0.0) continue;
                iterate.add(i, -change, v_moves_[a].data());
                change = 0.0;
                left = true;
            }
            n_left += left;
        }
        return n_left;
    }

    void climb(Iterate& iterate) {
        Quadratic dual;
        if (!expand(iterate, dual)) return forget();
        Coefficients x{};
        solve_small(dual.H, dual.g, x, n_moves_);
        const Line line = direction(iterate, x);
        double magnified = 0.0;
        for (std::size_t a = 0; a < n_moves_; ++a) magnified += std::fabs(x[a]) * dual.reach[a];
        if (!(line.slope > 0.0) || line.square <= cancels * magnified * magnified) return;
        move(iterate, line.curvature > 0.0 ? std::min(1.0, line.slope / line.curvature) : 1.0);
    }

    // The moves of v, the last of them again where there are fewer
    std::array<const double*, most> v_moves() const {
        std::array<const double*, most> q{};
        for (std::size_t a = 0; a < most; ++a) q[a] = v_moves_[std::min(a, n_moves_ - 1)].data();
        return q;
    }

    // The quadratic. False where the last move is rounding for the most part.
    bool expand(const Iterate& iterate, Quadratic& dual) {
        const std::size_t last = n_moves_ - 1;
        const auto q = v_moves();
        const MoveProducts products = move_products(iterate.v.data(), q[0], q[1], q[2], iterate.d + 1);
        double size = iterate.alpha * products.square;  // of the terms of the gradient along the last move
        if (iterate.alpha * products.among[last][last] <= 1e-20 * size) return false;
        for (std::size_t a = 0; a < n_moves_; ++a) {
            dual.g[a] = -iterate.alpha * products.with_v[a];
            for (std::size_t b = 0; b <= a; ++b) dual.H[a][b] = iterate.alpha * products.among[a][b];
        }
        for (const auto& [i, piece] : face_) {
            const double c = iterate.rows[i].weight, row_norm = std::sqrt(c / iterate.rows[i].step);
            for (std::size_t a = 0; a < n_moves_; ++a) {
                const double change = moves_[a][i];
                dual.reach[a] += std::fabs(change) * row_norm;
                dual.g[a] -= c * piece.slope * change;
                if (piece.curvature != 0.0)
                    for (std::size_t b = 0; b <= a; ++b)
                        dual.H[a][b] += c * piece.curvature * change * moves_[b][i];
                if (a == last) size += std::fabs(c * piece.slope * change);
            }
        }
        // near the end the terms of the gradient cancel and leave the rounding of v
        residual_.clear();
        if (dual.H[last][last] <= 1e-14 * size) gradient_from_residuals(iterate, dual.g);
        // moves that cancel in v leave its rounding alone, which must not be magnified
        for (std::size_t a = 0; a < n_moves_; ++a)
            if (dual.H[a][a] <= cancels * dual.reach[a] * dual.reach[a]) dual.H[a][a] = 0.0;
        return true;
    }

    // The gradient along the moves from c_i (z_i - slope_i), at the cost of all predictions.
    void gradient_from_residuals(const Iterate& iterate, Coefficients& g) {
        g.fill(0.0);
        for (const auto& [i, piece] : face_) {
            residual_.push_back(iterate.rows[i].weight * (iterate.predict(i) - piece.slope));
            for (std::size_t a = 0; a < n_moves_; ++a) g[a] += residual_.back() * moves_[a][i];
        }
    }

    // The combination x of the moves, cut off where the pieces end, and the dual along it.
    Line direction(const Iterate& iterate, const Coefficients& x) {
        Line line;
        const auto q = v_moves();
        direction_.resize(iterate.d + 1);
        combine(x, q[0], q[1], q[2], direction_.data(), iterate.d + 1);
        change_.resize(face_.size());
        for (std::size_t k = 0; k < face_.size(); ++k) {
            const auto& [i, piece] = face_[k];
            const DualDescentRow& row = iterate.rows[i];
            double change = 0.0;
            for (std::size_t a = 0; a < n_moves_; ++a) change += x[a] * moves_[a][i];
            const double next = clip(row.theta + change, piece.lower, piece.upper);
            if (next != row.theta + change)
                iterate.add(i, next - (row.theta + change), direction_.data());
            change_[k] = next - row.theta;
            line.slope += change_[k] * (residual_.empty() ? -row.weight * piece.slope : residual_[k]);
            line.curvature += row.weight * piece.curvature * change_[k] * change_[k];
        }
        const auto [along, square] = dot_and_square(direction_.data(), iterate.v.data(), iterate.d + 1);
        if (residual_.empty()) line.slope -= iterate.alpha * along;
        line.square = iterate.alpha * square;
        line.curvature += line.square;
        return line;
    }

    // Moves the iterate by a multiple of the direction, which becomes a part of the last move.
    void move(Iterate& iterate, double length) {
        for (std::size_t k = 0; k < face_.size(); ++k) {
            const auto& [i, piece] = face_[k];
            double& theta = iterate.rows[i].theta;
            const double next = clip(theta + length * change_[k], piece.lower, piece.upper);
            moves_[n_moves_ - 1][i] += next - theta;
            theta = next;
        }
        dense_axpy_twice(length, direction_.data(), iterate.v.data(), v_moves_[n_moves_ - 1].data(),
                         iterate.d + 1);
    }

    static constexpr double cancels = 1e-12;  // share of a squared reach that is rounding

    std::size_t n_moves_ = 0;
    std::array<std::vector<double>, most> moves_, v_moves_;  // p_a and q_a, the last one last
    std::vector<double> theta_before_, v_before_;
    std::vector<std::pair<std::size_t, Piece>> face_;
    std::vector<double> residual_;           // c_i (z_i - slope_i) of the face, if needed
    std::vector<double> direction_, change_;  // of v, and of theta on the face
};

}  // namespace skpd
