// The Python bindings of the losses (maths/losses.hpp, deviances.hpp and softmax.hpp have the formulas).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bind/matrix.hpp"
#include "maths/deviances.hpp"
#include "maths/losses.hpp"
#include "maths/softmax.hpp"
#include "methods/newton_on_table.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// Binds all Newton steps on a small table, for a loss that has a curvature wherever it has a slope.
template <class Loss>
void bind_newton_steps(nb::class_<Loss>& bound) {
    bound.def(
        "newton_steps",
        [](const Loss& loss, const Matrix& matrix, In y, In weights, const SeparableCoordinates& penalty,
           const NewtonGoal& goal, const NewtonSettings& settings, int max_steps, Out variables, Out derivative) {
            const std::size_t n = matrix.n_rows(), d = matrix.n_columns(), m = variables.shape(0);
            require(have_length(n, y, weights, derivative) && (m == d || m == d + 1) && penalty.n_penalised() == d,
                    "y, weights, penalty, variables and derivative do not fit the matrix");
            nb::gil_scoped_release release;
            const TableWithOnes table{matrix.layout(), matrix.by_row(), n, d, m > d};
            return NewtonOnTable<Loss>(loss, table, y.data(), weights.data(), penalty, goal, settings,
                                       variables.data(), derivative.data())
                .minimise(max_steps);
        },
        "matrix"_a, "y"_a, "weights"_a, "penalty"_a, "goal"_a, "settings"_a, "max_steps"_a, "variables"_a,
        "derivative"_a,
        "Minimises over the variables (m), from their values, and writes the derivatives of the losses (n).\n\n"
        "Returns the number of steps.");
}

// Binds the functions of the loss as a smooth function of the predictions, which is the loss itself or its Moreau
// envelope.
template <class Loss>
void bind_smoothed(nb::class_<Loss>& bound) {
    bound.def(
        "smoothed_derivatives",
        [](const Loss& loss, In y, In weights, In theta, In z, double sigma, Out derivative, Out gradient,
           Out curvature) {
            const std::size_t n = z.shape(0);
            require(have_length(n, y, weights, theta, derivative, gradient, curvature),
                    "y, weights, theta, z and the outputs differ in length");
            nb::gil_scoped_release release;
            return with_smooth(loss, sigma, [&](const auto& smooth) {
                return smoothed_derivatives(smooth, n, y.data(), weights.data(), theta.data(), z.data(),
                                            derivative.data(), gradient.data(), curvature.data());
            });
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "gradient"_a, "curvature"_a,
        "Writes the first two derivatives of the smoothed losses; returns their primal and dual sums.");
    bound.def(
        "rows_that_bend",
        [](const Loss& loss, In y, In theta, In z, double sigma, In derivative, In curvature, double radius) {
            const std::size_t n = z.shape(0);
            require(have_length(n, y, theta, derivative, curvature),
                    "y, theta, z, derivative and curvature differ in length");
            return as_numpy(without_lock([&] {
                return with_smooth(loss, sigma, [&](const auto& smooth) {
                    return rows_that_bend(smooth, n, y.data(), theta.data(), z.data(), derivative.data(),
                                          curvature.data(), radius);
                });
            }));
        },
        "y"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "curvature"_a, "radius"_a,
        "Returns the rows whose smoothed loss has a curvature within the radius of z.");
    bound.def(
        "smoothed_slope",
        [](const Loss& loss, In y, In weights, In theta, In z, In direction, double step, double sigma) {
            const std::size_t n = z.shape(0);
            require(have_length(n, y, weights, theta, direction),
                    "y, weights, theta, z and direction differ in length");
            nb::gil_scoped_release release;
            return with_smooth(loss, sigma, [&](const auto& smooth) {
                return smoothed_slope(smooth, n, y.data(), weights.data(), theta.data(), z.data(), direction.data(),
                                      step);
            });
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "direction"_a, "step"_a, "sigma"_a,
        "Returns the slope of the smoothed losses along a direction.");
}

template <class Loss>
void bind_loss(nb::class_<Loss>& bound) {
    bind_smoothed(bound);
    bound.def(
        "prox_conjugate",
        [](const Loss& loss, In y, In theta, In step) {
            const std::size_t n = theta.shape(0);
            require(have_length(n, y, step), "y, theta and step differ in length");
            return filled(n, [&](double* out) {
                for (std::size_t i = 0; i < n; ++i)
                    out[i] = dual_prox(loss, y.data()[i], theta.data()[i], 0.0, step.data()[i]);
            });
        },
        "y"_a, "theta"_a, "step"_a,
        "Returns argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i) for each row; all vectors have n entries.");
}

// out_i = function(arguments_i) for n rows
template <auto function, class Loss, class... Arguments>
SKPD_CLONES void map_rows(const Loss& loss, std::size_t n, double* out, const Arguments*... arguments) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) out[i] = (local.*function)(arguments[i]...);
}
template <auto function, class Loss, class... Others>
auto of_rows(const Loss& loss, In first, Others... others) {
    const std::size_t n = first.shape(0);
    require(have_length(n, others...), "the arguments differ in length");
    return filled(n, [&](double* out) { map_rows<function>(loss, n, out, first.data(), others.data()...); });
}

template <Variance variance>
void bind_deviance(nb::module_& m, const char* name) {
    using Loss = DevianceLoss<variance>;
    nb::class_<Loss> deviance(m, name,
        "Half the unit deviance of a Tweedie distribution with a log link.");
    deviance.def(nb::init<double>(), "power"_a);
    bind_loss(deviance);
    bind_newton_steps(deviance);
    deviance.def("values", of_rows<&Loss::value, Loss, In>, "s"_a, "r"_a,
        "Returns s_i phi(r_i), or e^(a r_i) / a if s_i = 0; s and r (n).");
    deviance.def("derivatives", of_rows<&Loss::derivative, Loss, In>, "s"_a, "r"_a,
                 "Returns s_i phi'(r_i), or e^(a r_i) if s_i = 0; s and r (n).");
    deviance.def("conjugates", of_rows<&Loss::conjugate_without_log_term, Loss, In>, "s"_a, "theta"_a,
                 "Returns l*(y_i, theta_i) - theta_i log y_i.");
}

void bind_deviances(nb::module_& m) {
    bind_deviance<Variance::mean>(m, "PoissonLoss");
    bind_deviance<Variance::square>(m, "GammaLoss");
    bind_deviance<Variance::other>(m, "TweedieLoss");
    nb::class_<NegativeBinomialLoss> binomial(m, "NegativeBinomialLoss",
                                              "Half the unit deviance of the negative binomial with a log link.");
    binomial.def(nb::init<double>(), "k"_a);
    bind_loss(binomial);
    bind_newton_steps(binomial);
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<NewtonGoal>(m, "NewtonGoal", "The gap at which Newton steps on a small table end.")
        .def(nb::init<double, double, double, double>(), "constant"_a, "tol"_a, "least"_a, "likely"_a);
    nb::class_<NewtonSettings>(m, "NewtonSettings", "The settings of Newton steps on a small table.")
        .def(nb::init<double, double, double, double, int, int, int>(), "accuracy"_a, "full_step_slope"_a,
             "line_search_slope"_a, "slope_rounding"_a, "halvings"_a, "sweeps"_a, "rounds"_a);
    nb::class_<HingeLoss> hinge(m, "HingeLoss",
        "The hinge losses have phi*(u) = u + curvature u^2 / 2 on [lower, 0].");
    hinge.def(nb::init<double, double>(), "lower"_a, "curvature"_a);
    bind_loss(hinge);
    bind_newton_steps(hinge);
    nb::class_<GeneralizedHingeLoss> generalized(m, "GeneralizedHingeLoss",
        "The generalised hinge loss has phi*(u) = max(u, -1) on [-slope, 0].");
    generalized.def(nb::init<double>(), "slope"_a);
    bind_loss(generalized);
    nb::class_<LogisticLoss> logistic(m, "LogisticLoss", "The logistic loss is phi(t) = log(1 + exp(-t)).");
    logistic.def(nb::init<>());
    bind_loss(logistic);
    bind_newton_steps(logistic);
    logistic.def("values", of_rows<&LogisticLoss::value, LogisticLoss>, "t"_a,
        "Returns phi(t_i) for t (n).");
    logistic.def("conjugates", of_rows<&LogisticLoss::extended_conjugate, LogisticLoss>, "u"_a,
                 "Returns phi*(u_i), which is inf outside its domain, for u (n).");
    nb::class_<ResidualLoss> residual(m, "ResidualLoss",
                                      "Losses of residuals: phi*(u) = tube |u| + curvature u^2 / 2.");
    residual.def(nb::init<double, double, double, double>(), "lower"_a, "upper"_a, "tube"_a, "curvature"_a);
    bind_loss(residual);
    bind_newton_steps(residual);
    nb::class_<PiecewiseLinearLoss> linear(m, "PiecewiseLinearLoss",
        "The function phi is linear between breakpoints (m), where it has the values (m), with slopes (m + 1).");
    linear.def("__init__",
               [](PiecewiseLinearLoss* self, std::vector<double> breakpoints, std::vector<double> slopes,
                  std::vector<double> values) {
                   const std::size_t n = breakpoints.size();
                   require(n > 0 && slopes.size() == n + 1 && values.size() == n,
                           "breakpoints, slopes and values differ in length");
                   new (self) PiecewiseLinearLoss{std::move(breakpoints), std::move(slopes), std::move(values)};
               },
               "breakpoints"_a, "slopes"_a, "values"_a);
    bind_loss(linear);
    bind_deviances(m);
    m.def(
        "softmax_derivatives",
        [](In y, In weights, In z, std::size_t n_outputs, Out derivative, Out gradient, Out curvature, Out factor) {
            const std::size_t size = z.shape(0);
            require(n_outputs > 0 && size % n_outputs == 0, "z must have a number for each output of each row");
            require(have_length(size, y, weights, derivative, gradient, curvature, factor),
                    "y, weights, z and the outputs differ in length");
            nb::gil_scoped_release release;
            return softmax_derivatives(size / n_outputs, n_outputs, y.data(), weights.data(), z.data(),
                                       derivative.data(), gradient.data(), curvature.data(), factor.data());
        },
        "y"_a, "weights"_a, "z"_a, "n_outputs"_a, "derivative"_a, "gradient"_a, "curvature"_a, "factor"_a,
        "Writes the derivatives of the softmax loss; returns its primal and dual sums.");
}

}  // namespace skpd
