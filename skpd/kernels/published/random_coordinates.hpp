// Random coordinate methods for a smooth loss and a separable penalty,
//
//   minimise over w (d)    sum_i c_i l(y_i, z_i) + alpha sum_j R_j(w_j),    z_i = x_i . w,    i < n,
//
// on the columns of X (n, d), which are the rows of a stored transpose; a last column of ones without a penalty may be
// added. With L_j = (smoothness of l) sum_i c_i x_ij^2, a step along column j from w minimises the bound
//
//   g_j t + L_j t^2 / 2 + alpha R_j(w_j + t),    g_j = sum_i c_i l'(y_i, z_i) x_ij,
//
// on the objective, which is the objective itself for the squared loss. For that loss the coefficient of the column of
// ones is a function of the others, b = y' - x' . w with the weighted means y' and x' of targets and rows, and the
// steps are those along centred columns, which are never formed:
//
//   g_j = sum_i c_i (x_i . w - y_i) x_ij - (x' . w - y') x'_j,    L_j = sum_i c_i (x_ij - x'_j)^2.
//
// The dual of a squared l2 penalty is such a problem for the rows of X, with the variables v_i = c_i theta_i:
//
//   minimise over v (n)    ||X' v||^2 / (2 alpha) + sum_i c_i l*(y_i, v_i / c_i).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
    // Returns the sum over all steps of the variables after each step.
    virtual std::vector<double> sums() const = 0;
    virtual std::size_t n_coordinates() const = 0;
};

// R_i(v_i) = c_i l*(y_i, v_i / c_i) for dual variables v (n)
struct ConjugateCoordinates {
    struct Term {
        AnyLoss loss;
        double y, weight;
        double prox(double v, double step) const {
            if (!(weight > 0.0)) return 0.0;
            const auto prox = [&](const auto* loss) { return dual_prox(*loss, y, v / weight, 0.0, step / weight); };
            return weight * std::visit(prox, loss);
        }
    };
    Term operator[](std::size_t i) const { return {loss, y[i], weights[i]}; }

    AnyLoss loss;
    std::vector<double> y, weights;
};

// The problem's targets and weights (n), terms R_j (d), and whether there is a column of ones
template <class Terms>
struct CoordinateProblem {
    std::vector<double> y, weights;
    Terms terms;
    double alpha, smoothness;
    bool ones;
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
    static double derivative(const Loss& loss, double y, double z) {
        return Loss::margin ? y * loss.derivative(y * z) : loss.derivative(z - y);
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
        if (moving_.empty()) return;
        for (const std::size_t end = step_ + steps; step_ < end; ++step_) {
            const std::size_t j = this->draw();
            const double next = this->minimise(j, w_[j], gradient(j), curvature_[j]), change = next - w_[j];
            if (change == 0.0) continue;
            sums_[j] += static_cast<double>(step_ - since_[j]) * w_[j];
            since_[j] = step_;
            w_[j] = next;
            residual_ += change * means_[j];
            // The loop works on copies, so that it is vectorised for a dense column.
            this->visit(j, [change, loss = this->loss_, y = problem_.y.data(), weights = problem_.weights.data(),
                            z = z_.data(), slope = slope_.data()](std::size_t i, double x) {
                z[i] += change * x;
                slope[i] = weights[i] * Base::derivative(loss, y[i], z[i]);
            });
        }
    }
    void refresh() override {
        z_.assign(n_, 0.0);
        this->predict(w_, z_);
        for (std::size_t i = 0; i < n_; ++i)
            slope_[i] = problem_.weights[i] * this->derivative(this->loss_, problem_.y[i], z_[i]);
        residual_ = this->mean_residual(w_);
    }
    std::vector<double> variables() const override { return this->completed(w_); }
    std::vector<double> sums() const override {
        std::vector<double> out = sums_;
        for (std::size_t j = 0; j < out.size(); ++j) out[j] += static_cast<double>(step_ - since_[j]) * w_[j];
        return this->completed(std::move(out), static_cast<double>(step_));
    }

   private:
    double gradient(std::size_t j) const {
        if (j < d_) return this->columns_.dot(j, slope_.data()) - means_[j] * residual_;
        double sum = 0.0;
        for (const double slope : slope_) sum += slope;
        return sum;
    }

    std::vector<double> z_, slope_, sums_;  // slope_i = c_i l'(y_i, z_i)
    std::vector<std::size_t> since_;  // the step from which on w_j is missing in sums_
    double residual_ = 0.0;  // mean_residual(w_), if the columns are centred
    std::size_t step_ = 0;
};

// APPROX, Algorithm 2 of Fercoq and Richtarik (2015), one coordinate at a time. Neither the iterates w = theta^2 u + v
// nor the points theta^2 u + v with the next theta, at which gradients are taken, are formed: a step changes one entry
// of u (d) and of v (d).
template <class Loss, class Terms>
class ApproxOn final : public CoordinatesOn<Loss, Terms> {
    using Base = CoordinatesOn<Loss, Terms>;
    using Base::curvature_, Base::means_, Base::moving_, Base::n_, Base::problem_, Base::w_;

   public:
    ApproxOn(const Loss& loss, const MajorVectors& columns, const CoordinateProblem<Terms>& problem, const double* w,
             std::uint64_t seed)
        : Base(loss, columns, problem, w, seed), u_(w_.size(), 0.0), rows_(n_),
          theta_(1.0 / std::max<double>(1.0, static_cast<double>(moving_.size()))), last_(theta_) {
        refresh();
    }

    void run(std::size_t steps) override {
        const auto n = static_cast<double>(moving_.size());
        if (moving_.empty()) return;
        for (std::size_t step = 0; step < steps; ++step) {
            const std::size_t j = this->draw();
            const double square = theta_ * theta_;
            double g = 0.0;
            this->visit(j, [&](std::size_t i, double x) {
                const Row& row = rows_[i];
                g += row.weight * this->derivative(this->loss_, row.y, square * row.u + row.v) * x;
            });
            g -= means_[j] * (square * mean_u_ + residual_v_);
            const double next = this->minimise(j, w_[j], g, n * theta_ * curvature_[j]), change = next - w_[j];
            if (change != 0.0) {
                const double back = (1.0 - n * theta_) / square * change;
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
    std::vector<double> sums() const override { return {}; }

   private:
    struct Row {
        double u, v, y, weight;  // x_i . u, x_i . v
    };

    std::vector<double> u_;  // w_ of the base class is v
    std::vector<Row> rows_;
    double theta_, last_;
    // sum_i c_i x_i . u and sum_i c_i (x_i . v - y_i), if the columns are centred
    double mean_u_ = 0.0, residual_v_ = 0.0;
};

}  // namespace skpd
