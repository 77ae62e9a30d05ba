// The maximum of the dual over the subspace of the moves of the last epochs of dual coordinate descent, which overcomes
// the slow convergence of coordinates that depend on each other.
//
// The face consists of the rows with theta_i inside a piece of l*(y_i, .), on which the conjugate is a parabola; the
// other rows keep their theta_i. A combination x (3) of the moves p_a of theta and q_a of v changes the dual by g . x -
// x' H x / 2, with
//
//   H_ab = alpha q_a . q_b + sum_i c_i curvature_i p_ai p_bi
//   g_a  = -alpha q_a . v - sum_i c_i slope_i p_ai = sum_i c_i (z_i - slope_i) p_ai
//
// over the rows i of the face; it is cut off where the face ends. The dual variables of a row are one number, or one
// for each class, in which the conjugate is linear.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/compensated.hpp"
#include "data/dense_vectors.hpp"
#include "maths/small_system.hpp"
#include "methods/active_rows.hpp"

namespace skpd {

// v.v, the products of the moves p, q and r with v, and the products of the moves; all vectors have n entries
struct MoveProducts {
    double square, with_v[3], among[3][3];
};
SKPD_CLONES inline MoveProducts move_products(const double* v, const double* p, const double* q, const double* r,
                                              std::size_t n) {
    double vv = 0.0, pv = 0.0, qv = 0.0, rv = 0.0, pp = 0.0, qp = 0.0, qq = 0.0, rp = 0.0, rq = 0.0, rr = 0.0;
#pragma omp simd reduction(+ : vv, pv, qv, rv, pp, qp, qq, rp, rq, rr)
    for (std::size_t j = 0; j < n; ++j) {
        vv += v[j] * v[j];
        pv += p[j] * v[j];
        qv += q[j] * v[j];
        rv += r[j] * v[j];
        pp += p[j] * p[j];
        qp += q[j] * p[j];
        qq += q[j] * q[j];
        rp += r[j] * p[j];
        rq += r[j] * q[j];
        rr += r[j] * r[j];
    }
    return {vv, {pv, qv, rv}, {{pp, qp, rp}, {qp, qq, rq}, {rp, rq, rr}}};
}
// out = x_0 p + x_1 q + x_2 r; p, q, r and out (n)
SKPD_CLONES inline void combine(const std::array<double, 3>& x, const double* p, const double* q, const double* r,
                                double* out, std::size_t n) {
    const double a = x[0], b = x[1], c = x[2];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) out[j] = a * p[j] + b * q[j] + c * r[j];
}
// This keeps the moves of the last epochs, p_a of theta and q_a of v.
template <class Iterate>
class MoveSubspace {
   public:
    // Sets all moves to 0.
    void forget() {
        for (auto* moves : {&moves_, &v_moves_})
            for (auto& move : *moves) std::fill(move.begin(), move.end(), 0.0);
    }

    // Stores theta and v at the start of an epoch.
    void begin_move(const Iterate& iterate, const ActiveRows& active) {
        before_.resize(iterate.n * iterate.stride);
        for (auto& move : moves_) move.resize(before_.size(), 0.0);
        for (auto& move : v_moves_) move.resize(iterate.v.size(), 0.0);
        for (std::size_t place = 0; place < active.size(); ++place)
            std::copy_n(iterate.point(active[place]), iterate.stride, before_.data() + active[place] * iterate.stride);
        v_before_ = iterate.v;
    }

    // Adds the move of the epoch that ends, and moves the iterate to the maximum over the subspace.
    void end_move(Iterate& iterate, const ActiveRows& active) {
        add_move(iterate);
        const std::size_t n_left = find_face(iterate, active);
        if (face_.empty() || n_left > std::max<std::size_t>(3, face_.size() / 10)) return forget();
        climb(iterate);
    }

   private:
    static constexpr std::size_t n_moves = 3, last = n_moves - 1;  // a move that was forgotten is 0
    static constexpr double cancels = 1e-12;  // a squared norm below this share of the squared size is rounding
    static constexpr double all_rounding = 1e-14;  // a gradient below this share of its terms is rounding
    using Coefficients = std::array<double, n_moves>;
    using Vector = decltype(Iterate::v);

    // The dual is g . x - x' H x / 2 for the combination x of the moves.
    struct Quadratic {
        SmallMatrix<n_moves> H{};  // only the lower triangle is set
        Coefficients g{};
        Coefficients size{};  // sum_i |p_ai| ||c_i (x_i, s)|| / alpha^(1/2): at least alpha^(1/2) ||q_a||
    };
    // Row i belongs to the face, on the piece of c_i l*(y_i, .).
    struct Face {
        std::uint32_t i;
        decltype(std::declval<const Iterate&>().piece(0)) piece;
    };
    // slope and curvature are those of the dual along the direction.
    struct Line {
        double slope = 0.0, curvature = 0.0;
        double square = 0.0;  // alpha times the squared length of the direction
    };

    void add_move(const Iterate& iterate) {  // the oldest move is replaced
        std::rotate(moves_.begin(), moves_.begin() + 1, moves_.end());
        std::rotate(v_moves_.begin(), v_moves_.begin() + 1, v_moves_.end());
        Vector& move = v_moves_[last];
        for (std::size_t j = 0; j < move.size(); ++j) move[j] = iterate.v[j] - v_before_[j];
    }

    // Finds the active rows on the face and removes the other rows from all moves; returns how many of these had moved.
    std::size_t find_face(Iterate& iterate, const ActiveRows& active) {
        face_.clear();
        std::size_t n_left = 0;
        for (std::size_t place = 0; place < active.size(); ++place) {
            const std::uint32_t i = active[place];
            const std::size_t first = i * iterate.stride;
            const double* now = iterate.point(i);
            for (std::size_t k = 0; k < iterate.stride; ++k) moves_[last][first + k] = now[k] - before_[first + k];
            const auto piece = iterate.piece(i);
            if (iterate.stays_on_face(i, piece, part(iterate, 0, i), part(iterate, 1, i), part(iterate, 2, i))) {
                face_.push_back({i, piece});
                continue;
            }
            bool left = false;
            for (std::size_t a = 0; a < n_moves; ++a) left |= take_out(iterate, i, a);
            n_left += left;
        }
        return n_left;
    }

    // Row i of move a
    double* part(const Iterate& iterate, std::size_t a, std::size_t i) { return moves_[a].data() + i * iterate.stride; }

    // Removes row i from move a; returns whether it had a part in it.
    bool take_out(Iterate& iterate, std::size_t i, std::size_t a) {
        double* move = part(iterate, a, i);
        if (std::all_of(move, move + iterate.stride, [](double change) { return change == 0.0; })) return false;
        for (std::size_t k = 0; k < iterate.stride; ++k) move[k] = -move[k];
        iterate.add(i, move, v_moves_[a].data());
        std::fill_n(move, iterate.stride, 0.0);
        return true;
    }

    // Moves the iterate along x = H^-1 g, unless its direction is rounding for the most part.
    void climb(Iterate& iterate) {
        Quadratic dual;
        if (!expand(iterate, dual)) return forget();
        Coefficients x{};
        solve_small(dual.H, dual.g, x);
        const Line line = direction(iterate, x);
        double size = 0.0;
        for (std::size_t a = 0; a < n_moves; ++a) size += std::fabs(x[a]) * dual.size[a];
        if (!(line.slope > 0.0) || line.square <= cancels * size * size) return;
        move(iterate, line.curvature > 0.0 ? std::min(1.0, line.slope / line.curvature) : 1.0);
    }

    // Computes the quadratic. Returns false if the last move is rounding for the most part.
    bool expand(const Iterate& iterate, Quadratic& dual) {
        const std::size_t stride = iterate.stride;
        const MoveProducts products = move_products(iterate.v.data(), v_moves_[0].data(), v_moves_[1].data(),
                                                    v_moves_[2].data(), iterate.v.size());
        // size is the magnitude of the terms of the gradient along the last move.
        double size = iterate.alpha * products.square;
        if (iterate.alpha * products.among[last][last] <= 1e-20 * size) return false;
        for (std::size_t a = 0; a < n_moves; ++a) {
            dual.g[a] = -iterate.alpha * products.with_v[a];
            for (std::size_t b = 0; b <= a; ++b) dual.H[a][b] = iterate.alpha * products.among[a][b];
        }
        for (const auto& [i, piece] : face_) {
            const double row_norm = std::sqrt(iterate.rows[i].weight / iterate.rows[i].step);
            for (std::size_t a = 0; a < n_moves; ++a) {
                const double* change = part(iterate, a, i);
                const double linear = piece.along(change);
                double moved = 0.0;
                for (std::size_t k = 0; k < stride; ++k) moved += std::fabs(change[k]);
                dual.size[a] += moved * row_norm;
                dual.g[a] -= linear;
                if (piece.curvature != 0.0)
                    for (std::size_t b = 0; b <= a; ++b)
                        dual.H[a][b] += piece.curvature * *change * moves_[b][i * stride];
                if (a == last) size += std::fabs(linear);
            }
        }
        // Near the end the terms of the gradient cancel and leave the rounding errors of v.
        residual_.clear();
        if (dual.H[last][last] <= all_rounding * size) gradient_from_residuals(iterate, dual.g);
        // Moves that cancel in v leave only its rounding errors, which must not be magnified.
        for (std::size_t a = 0; a < n_moves; ++a)
            if (dual.H[a][a] <= cancels * dual.size[a] * dual.size[a]) dual.H[a][a] = 0.0;
        return true;
    }

    // g_a = sum_i c_i (z_i - slope_i) p_ai, at the cost of all predictions of the face
    void gradient_from_residuals(const Iterate& iterate, Coefficients& g) {
        g.fill(0.0);
        residual_.resize(face_.size() * iterate.stride);
        double* residual = residual_.data();
        for (const auto& [i, piece] : face_) {
            iterate.gradient(i, residual);
            for (std::size_t k = 0; k < iterate.stride; ++k, ++residual)
                for (std::size_t a = 0; a < n_moves; ++a) g[a] += *residual * moves_[a][i * iterate.stride + k];
        }
    }

    // Computes the combination x of the moves, cut off where the face ends, and the dual along it.
    Line direction(Iterate& iterate, const Coefficients& x) {
        const std::size_t stride = iterate.stride;
        Line line;
        direction_.resize(iterate.v.size());
        combine(x, v_moves_[0].data(), v_moves_[1].data(), v_moves_[2].data(), direction_.data(), direction_.size());
        change_.resize(face_.size() * stride);
        added_.resize(stride);
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const auto& [i, piece] = face_[m];
            double* change = change_.data() + m * stride;
            const double *p = part(iterate, 0, i), *q = part(iterate, 1, i), *r = part(iterate, 2, i);
            for (std::size_t k = 0; k < stride; ++k) change[k] = x[0] * p[k] + x[1] * q[k] + x[2] * r[k];
            if (iterate.shorten(i, piece, change, added_.data())) iterate.add(i, added_.data(), direction_.data());
            if (residual_.empty()) line.slope -= piece.along(change);
            else
                for (std::size_t k = 0; k < stride; ++k) line.slope += change[k] * residual_[m * stride + k];
            line.curvature += piece.curvature * *change * *change;
        }
        const double* moved = direction_.data();
        const MoveProducts products = move_products(iterate.v.data(), moved, moved, moved, direction_.size());
        if (residual_.empty()) line.slope -= iterate.alpha * products.with_v[0];
        line.square = iterate.alpha * products.among[0][0];
        line.curvature += line.square;
        return line;
    }

    // Moves the iterate by length times the direction, which is added to the last move.
    void move(Iterate& iterate, double length) {
        for (std::size_t m = 0; m < face_.size(); ++m) {
            const auto& [i, piece] = face_[m];
            iterate.advance(i, piece, length, change_.data() + m * iterate.stride, part(iterate, last, i));
        }
        for (Vector* moved : {&iterate.v, &v_moves_[last]})
            dense_axpy(length, direction_.data(), moved->data(), direction_.size());
    }

    std::array<Vector, n_moves> moves_, v_moves_;  // p_a and q_a, of which that of the last epoch is the last
    Vector before_, v_before_;  // theta and v at the start of the epoch
    std::vector<Face> face_;
    Vector residual_;  // c_i (z_i - slope_i) of the face; empty if it is not needed
    // These are the direction of v, that of theta on the face, and the correction of a row's change that ends at the
    // face.
    Vector direction_, change_, added_;
};

}  // namespace skpd
