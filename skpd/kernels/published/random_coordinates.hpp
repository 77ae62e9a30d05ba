// Random coordinate methods for a smooth loss and a separable penalty,
//
//   minimise over w (d)    sum_i c_i l(y_i, z_i) + alpha sum_j R_j(w_j),    z_i = x_i . w,    i < n,
//
// on the columns of X (n, d), which are the rows of a stored transpose; a last column of ones without a penalty may be
// added. With L_j = (smoothness of l) sum_i c_i x_ij^2, the objective along column j has the upper bound
//
//   g_j t + L_j t^2 / 2 + alpha R_j(w_j + t),    g_j = sum_i c_i l'(y_i, z_i) x_ij,
//
// which is the objective itself for the squared loss. For that loss the coefficient of the column of ones is a function
// of the others, b = y' - x' . w with the weighted means y' and x' of targets and rows, and the steps are those along
// centred columns, which are never formed:
//
//   g_j = sum_i c_i (x_i . w - y_i) x_ij - (x' . w - y') x'_j,    L_j = sum_i c_i (x_ij - x'_j)^2.
//
// The dual of a penalty with an l1 norm, a squared l2 norm and bounds is such a problem for the rows of X, with the
// variables v_i = c_i theta_i. For the squared l2 norm it is
//
//   minimise over v (n)    ||X' v||^2 / (2 alpha) + sum_i c_i l*(y_i, v_i / c_i).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "maths/losses.hpp"
#include "data/products.hpp"
#include "maths/random.hpp"
#include "methods/penalised_coordinates.hpp"

namespace skpd {

// This is the interface of random coordinate methods for all losses and terms.
struct RandomCoordinates {
    virtual ~RandomCoordinates() = default;
    // Takes so many steps, each along a column drawn at random.
    virtual void run(std::size_t steps) = 0;
    // Recomputes the products X w, which removes accumulated rounding errors.
    virtual void refresh() = 0;
    virtual std::vector<double> variables() const = 0;
    // Returns the sum over all steps of the variables after each step, if the method keeps it.
    virtual std::vector<double> sums() const { return {}; }
    virtual std::size_t n_coordinates() const = 0;
};

// R_i(v_i) = c_i l*(y_i, v_i / c_i) for a dual variable v_i
struct ConjugateTerm {
    AnyLoss loss;
    double y, weight;
    double prox(double v, double step) const {
        if (!(weight > 0.0)) return 0.0;
        const auto prox = [&](const auto* loss) { return dual_prox(*loss, y, v / weight, 0.0, step / weight); };
        return weight * std::visit(prox, loss);
    }
};

// The problem's targets and weights (n), terms R_j (d), whether there is a column of ones, and the number of coordinates
// in a step
template <class Terms>
struct CoordinateProblem {
    std::vector<double> y, weights;
    Terms terms;
    double alpha, smoothness;
    bool ones;
    std::size_t per_step;
};

// Returns whether the loss is (z - y)^2 / 2
template <class Loss>
bool is_squared(const Loss& loss) {
    if constexpr (std::is_same_v<Loss, ResidualLoss>)
        return std::isinf(loss.lower) && std::isinf(loss.upper) && loss.tube == 0.0 && loss.curvature == 1.0;
    return false;
}

// All random coordinate methods share these data and operations.
template <class Loss, class Terms>
class CoordinatesOn : public RandomCoordinates {
   public:
    std::size_t n_coordinates() const override { return w_.size(); }

   protected:
    CoordinatesOn(const Loss& loss, const MajorVectors& columns, const CoordinateProblem<Terms>& problem, const double* w,
                  std::uint64_t seed)
        : loss_(loss), columns_(columns), problem_(problem), n_(columns.n_minor), d_(columns.n_major),
          centred_(problem.ones && is_squared(loss)), w_(w, w + d_ + (problem.ones && !centred_)),
          curvature_(w_.size(), 0.0), means_(w_.size(), 0.0), random_(seed) {
        for (std::size_t i = 0; i < n_ && centred_; ++i) mean_y_ += problem_.weights[i] * problem_.y[i];
        for (std::size_t j = 0; j < w_.size(); ++j) {
            double mean = 0.0, weight = 0.0, square = 0.0, length = 0.0;
            if (centred_) visit(j, [&](std::size_t i, double x) { mean += problem_.weights[i] * x; });
            visit(j, [&](std::size_t i, double x) {
                weight += problem_.weights[i];
                square += problem_.weights[i] * (x - mean) * (x - mean);
                length += problem_.weights[i] * x * x;
            });
            square += std::max(1.0 - weight, 0.0) * mean * mean;  // the contribution of zeros that are not stored
            means_[j] = mean;
            curvature_[j] = problem_.smoothness * square;
            // The coefficient of a column of zeros, or of a column that is constant up to rounding relative to the
            // intercept, minimises R_j.
            if (std::isfinite(1.0 / curvature_[j]) && square > 1e-28 * length) moving_.push_back(j);
            else w_[j] = j < d_ ? problem_.terms[j].prox(0.0, 1e200) : 0.0;
        }
    }

    // x' . w - steps y', the weighted mean residual for steps = 1
    double mean_residual(const std::vector<double>& w, double steps = 1.0) const {
        double sum = -steps * mean_y_;
        for (const std::size_t j : moving_) sum += means_[j] * w[j];
        return sum;
    }
    // Appends the coefficient of the column of ones to w, if it is a function of w.
    std::vector<double> completed(std::vector<double> w, double steps = 1.0) const {
        if (centred_) w.push_back(-mean_residual(w, steps));
        return w;
    }

    template <class Visit>
    void visit(std::size_t j, Visit entry) const {
        if (j < d_) columns_.for_each(j, entry);
        else
            for (std::size_t i = 0; i < n_; ++i) entry(i, 1.0);
    }
    // w + argmin_t g t + L t^2 / 2 + alpha R_j(w + t)
    double minimise(std::size_t j, double w, double g, double L) const {
        const double v = w - g / L;
        return j < d_ ? problem_.terms[j].prox(v, problem_.alpha / L) : v;
    }
    // out_i += x_i . w; w (d), out (n)
    void predict(const std::vector<double>& w, std::vector<double>& out) const {
        for (const std::size_t j : moving_)
            if (w[j] != 0.0) visit(j, [&](std::size_t i, double x) { out[i] += w[j] * x; });
    }
    std::size_t draw() { return moving_[random_.below(moving_.size())]; }

    const Loss loss_;
    const MajorVectors columns_;
    const CoordinateProblem<Terms> problem_;
    const std::size_t n_, d_;
    const bool centred_;
    std::vector<double> w_, curvature_, means_;  // means_ has the means of the columns, or 0 if they are not centred
    double mean_y_ = 0.0;
    std::vector<std::size_t> moving_;
    Xorshift random_;
};

// This is coordinate descent, Algorithm 1 of Duenner et al. (2016).
template <class Loss, class Terms>
class CoordinateDescentOn final : public CoordinatesOn<Loss, Terms> {
    using Base = CoordinatesOn<Loss, Terms>;
    using Base::curvature_, Base::d_, Base::means_, Base::moving_, Base::n_, Base::problem_, Base::w_;

   public:
    CoordinateDescentOn(const Loss& loss, const MajorVectors& columns, const CoordinateProblem<Terms>& problem,
                        const double* w, std::uint64_t seed)
        : Base(loss, columns, problem, w, seed), slope_(n_), sums_(w_.size(), 0.0), since_(w_.size(), 0) {
        refresh();
    }

    void run(std::size_t steps) override {
        for (const std::size_t end = step_ + steps; step_ < end; ++step_) {
            if (moving_.empty()) continue;
            const std::size_t j = this->draw();
            const double bound = this->minimise(j, w_[j], gradient(j), curvature_[j]);
            const double next = bound == w_[j] || is_squared(this->loss_) ? bound : minimise_exactly(j, bound);
            const double change = next - w_[j];
            if (change == 0.0) continue;
            sums_[j] += static_cast<double>(step_ - since_[j]) * w_[j];
            since_[j] = step_;
            w_[j] = next;
            residual_ += change * means_[j];
            // The loop works on copies, so that it is vectorised for a dense column.
            this->visit(j, [change, loss = this->loss_, y = problem_.y.data(), weights = problem_.weights.data(),
                            z = z_.data(), slope = slope_.data()](std::size_t i, double x) {
                z[i] += change * x;
                slope[i] = weights[i] * expansion(loss, y[i], z[i]).derivative;
            });
        }
    }
    void refresh() override {
        z_.assign(n_, 0.0);
        this->predict(w_, z_);
        for (std::size_t i = 0; i < n_; ++i)
            slope_[i] = problem_.weights[i] * expansion(this->loss_, problem_.y[i], z_[i]).derivative;
        residual_ = this->mean_residual(w_);
    }
    std::vector<double> variables() const override { return this->completed(w_); }
    std::vector<double> sums() const override {
        std::vector<double> out = sums_;
        for (std::size_t j = 0; j < out.size(); ++j) out[j] += static_cast<double>(step_ - since_[j]) * w_[j];
        return this->completed(std::move(out), static_cast<double>(step_));
    }

   private:
    // The minimiser of the objective along coordinate j. It is w_j + s (bound - w_j) with s >= 1 if `bound` minimises
    // the upper bound. From each s there is a proximal Newton step, which also tells on which side of s it is.
    double minimise_exactly(std::size_t j, double bound) const {
        const double length = bound - w_[j], unit = 4.0 * std::numeric_limits<double>::epsilon();
        double next = bound, low = 1.0, high = 1.0, start = 1.0;
        const auto excess = [&](double s) {
            const double w = w_[j] + s * length;
            double first = 0.0, size = 0.0, second = 0.0;
            this->visit(j, [&](std::size_t i, double x) {
                const double z = z_[i] + s * length * x, weight = problem_.weights[i];
                const Expansion at_z = expansion(this->loss_, problem_.y[i], z);
                const double slope = weight * at_z.derivative * x;
                first += slope;
                size += std::fabs(slope);
                second += weight * at_z.second_derivative * x * x;
            });
            second = std::max(second, 1e-9 * curvature_[j]);
            next = this->minimise(j, w, first, second);
            const bool is_exact = std::fabs(w - next) <= unit * (std::fabs(w) + size / second);
            return is_exact ? 0.0 : (w - next) / length;
        };
        for (double value; (value = excess(high)) < 0.0; high *= 4.0) {
            low = high;
            start = high - value;
        }
        if (high > low) increasing_root(low, high, start, [&](double s) { return std::pair{excess(s), 1.0}; });
        return next;
    }
    double gradient(std::size_t j) const {
        if (j < d_) return this->columns_.dot(j, slope_.data()) - means_[j] * residual_;
        return std::accumulate(slope_.begin(), slope_.end(), 0.0);
    }

    std::vector<double> z_, slope_, sums_;  // slope_i = c_i l'(y_i, z_i)
    std::vector<std::size_t> since_;  // the step from which on w_j is missing in sums_
    double residual_ = 0.0;  // mean_residual(w_), if the columns are centred
    std::size_t step_ = 0;
};

// APPROX, Algorithm 2 of Fercoq and Richtarik (2015). Neither the iterates w = theta^2 u + v nor the points theta^2 u +
// v with the next theta, at which gradients are taken, are formed: a step changes tau entries of u (d) and of v (d).
// If no row has more than omega of the d coordinates, the expected separable overapproximation for random sets of tau
// coordinates has the curvatures (1 + (omega - 1) (tau - 1) / max(1, d - 1)) L_j.
template <class Loss, class Terms>
class ApproxOn final : public CoordinatesOn<Loss, Terms> {
    using Base = CoordinatesOn<Loss, Terms>;
    using Base::curvature_, Base::means_, Base::moving_, Base::n_, Base::problem_, Base::w_;

   public:
    ApproxOn(const Loss& loss, const MajorVectors& columns, const CoordinateProblem<Terms>& problem, const double* w,
             std::uint64_t seed)
        : Base(loss, columns, problem, w, seed), u_(w_.size(), 0.0), rows_(n_),
          tau_(std::min(problem.per_step, moving_.size())), is_drawn_(moving_.size(), false) {
        const double n_moving = std::max<double>(1.0, static_cast<double>(moving_.size()));
        const double tau = std::max<double>(1.0, static_cast<double>(tau_));
        share_ = n_moving / tau;
        theta_ = last_ = 1.0 / share_;
        const double pairs = (static_cast<double>(most_of_a_row()) - 1.0) * (tau - 1.0);
        for (double& curvature : curvature_) curvature *= 1.0 + pairs / std::max(1.0, n_moving - 1.0);
        refresh();
    }

    void run(std::size_t steps) override {
        if (moving_.empty()) return;
        for (std::size_t step = 0; step < steps; ++step) {
            const double square = theta_ * theta_, at_u = mean_u_, at_v = residual_v_;
            draw_set();
            for (auto& [j, next] : drawn_) {
                double g = -means_[j] * (square * at_u + at_v);
                this->visit(j, [&](std::size_t i, double x) {
                    const Row& row = rows_[i];
                    g += row.weight * expansion(this->loss_, row.y, square * row.u + row.v).derivative * x;
                });
                next = this->minimise(j, w_[j], g, share_ * theta_ * curvature_[j]);
            }
            for (const auto& [j, next] : drawn_) {
                const double change = next - w_[j], back = (1.0 - share_ * theta_) / square * change;
                if (change == 0.0) continue;
                w_[j] = next;
                u_[j] -= back;
                residual_v_ += change * means_[j];
                mean_u_ -= back * means_[j];
                this->visit(j, [&](std::size_t i, double x) {
                    rows_[i].v += change * x;
                    rows_[i].u -= back * x;
                });
            }
            last_ = theta_;
            theta_ = 2.0 * theta_ / (theta_ + std::sqrt(square + 4.0));
        }
    }
    void refresh() override {
        std::vector<double> u(n_, 0.0), v(n_, 0.0);
        this->predict(u_, u);
        this->predict(w_, v);
        for (std::size_t i = 0; i < n_; ++i) rows_[i] = {u[i], v[i], problem_.y[i], problem_.weights[i]};
        residual_v_ = this->mean_residual(w_);
        mean_u_ = this->mean_residual(u_, 0.0);
    }
    std::vector<double> variables() const override {
        std::vector<double> out = w_;
        for (std::size_t j = 0; j < out.size(); ++j) out[j] += last_ * last_ * u_[j];
        return this->completed(std::move(out));
    }

   private:
    struct Row {
        double u, v, y, weight;  // x_i . u, x_i . v
    };

    // Draws a set of tau coordinates, all such sets with the same probability (Floyd's method).
    void draw_set() {
        drawn_.clear();
        for (std::size_t k = moving_.size() - tau_; k < moving_.size(); ++k) {
            std::size_t place = this->random_.below(k + 1);
            if (is_drawn_[place]) place = k;
            is_drawn_[place] = true;
            drawn_.emplace_back(place, 0.0);
        }
        for (auto& [j, next] : drawn_) {
            is_drawn_[j] = false;
            j = moving_[j];
        }
    }
    // The largest number of coordinates of a row, where a centred column has entries in all rows.
    std::size_t most_of_a_row() const {
        std::vector<std::size_t> counts(n_ + 1, 0);
        std::size_t centred = 0;
        for (const std::size_t j : moving_) {
            if (means_[j] != 0.0) ++centred;
            else this->visit(j, [&](std::size_t i, double x) { counts[i] += x != 0.0; });
        }
        return centred + *std::max_element(counts.begin(), counts.end());
    }

    std::vector<double> u_;  // w_ of the base class is v
    std::vector<Row> rows_;
    std::size_t tau_;
    std::vector<char> is_drawn_;
    std::vector<std::pair<std::size_t, double>> drawn_;  // the coordinates of a step, and their next values
    double share_, theta_, last_;  // share_ is the number of coordinates over tau
    // sum_i c_i x_i . u and sum_i c_i (x_i . v - y_i), if the columns are centred
    double mean_u_ = 0.0, residual_v_ = 0.0;
};

}  // namespace skpd
