// Python bindings of the losses.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "maths/deviances.hpp"
#include "maths/losses.hpp"
#include "maths/softmax.hpp"

using namespace nanobind::literals;

namespace skpd {
namespace {

// The loss as a smooth function of the predictions: itself, or its Moreau envelope
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
            return smoothed_derivatives(Smoothed<Loss>{loss, sigma}, n, y.data(), weights.data(), theta.data(), z.data(),
                                        derivative.data(), gradient.data(), curvature.data());
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "gradient"_a, "curvature"_a,
        "Derivatives in z of the loss (sigma inf) or of its Moreau envelope shifted by theta: writes the first, "
        "the first times the weights and the second, over sigma if finite, times the weights; returns the "
        "weighted sum of the losses at z, and of minus their conjugates at the first derivative.");
    bound.def(
        "rows_that_bend",
        [](const Loss& loss, In y, In theta, In z, double sigma, In derivative, In curvature, double radius) {
            const std::size_t n = z.shape(0);
            require(have_length(n, y, theta, derivative, curvature),
                    "y, theta, z and what is known there differ in length");
            std::vector<std::uint8_t> bends(n);
            std::vector<std::int64_t> rows;
            {
                nb::gil_scoped_release release;
                rows_that_bend(Smoothed<Loss>{loss, sigma}, n, y.data(), theta.data(), z.data(), derivative.data(),
                               curvature.data(), radius, bends.data());
                for (std::size_t i = 0; i < n; ++i)
                    if (bends[i]) rows.push_back(static_cast<std::int64_t>(i));
            }
            return as_numpy(std::move(rows));
        },
        "y"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "curvature"_a, "radius"_a,
        "The rows with curvature, or whose derivative is another within a radius of z.");
    bound.def(
        "smoothed_slope",
        [](const Loss& loss, In y, In weights, In theta, In z, In direction, double step, double sigma) {
            const std::size_t n = z.shape(0);
            require(have_length(n, y, weights, theta, direction),
                    "y, weights, theta, z and direction differ in length");
            nb::gil_scoped_release release;
            return smoothed_slope(Smoothed<Loss>{loss, sigma}, n, y.data(), weights.data(), theta.data(), z.data(),
                                  direction.data(), step);
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "direction"_a, "step"_a, "sigma"_a,
        "Derivative along direction, at z + step direction, of the weighted sum of the smoothed losses.");
}

template <class Loss>
void bind_loss(nb::class_<Loss>& bound) {
    bind_smoothed(bound);
    bound.def(
        "prox_conjugate",
        [](const Loss& loss, In y, In theta, In step) {
            const std::size_t n = theta.shape(0);
            require(have_length(n, y, step), "y, theta and step differ in length");
            std::vector<double> out(n);
            for (std::size_t i = 0; i < n; ++i)
                out[i] = dual_prox(loss, y.data()[i], theta.data()[i], 0.0, step.data()[i]);
            return as_numpy(std::move(out));
        },
        "y"_a, "theta"_a, "step"_a, "argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i).");
}

using Elementwise = void (*)(std::size_t, const double*, double*);
auto mapped(In t, Elementwise function) {
    std::vector<double> out(t.shape(0));
    {
        nb::gil_scoped_release release;
        function(out.size(), t.data(), out.data());
    }
    return as_numpy(std::move(out));
}

// A function of a scale and of an argument for each row
template <class Loss, double (Loss::*function)(double, double) const>
SKPD_CLONES void map_rows(const Loss& loss, std::size_t n, const double* s, const double* argument, double* out) {
    const Loss local = loss;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) out[i] = (local.*function)(s[i], argument[i]);
}
template <class Loss, double (Loss::*function)(double, double) const>
auto of_rows(const Loss& loss, In s, In argument) {
    require(have_length(s.shape(0), argument), "the arguments differ in length");
    std::vector<double> out(s.shape(0));
    {
        nb::gil_scoped_release release;
        map_rows<Loss, function>(loss, out.size(), s.data(), argument.data(), out.data());
    }
    return as_numpy(std::move(out));
}

template <Variance variance>
void bind_deviance(nb::module_& m, const char* name) {
    using Loss = DevianceLoss<variance>;
    nb::class_<Loss> deviance(m, name, "Half the unit deviance of a Tweedie distribution with a log link.");
    deviance.def(nb::init<double>(), "power"_a);
    bind_loss(deviance);
    deviance.def("values", of_rows<Loss, &Loss::value>, "s"_a, "r"_a, "s phi(r), or e^(a r) / a where s is 0");
    deviance.def("derivatives", of_rows<Loss, &Loss::derivative>, "s"_a, "r"_a,
                 "s phi'(r), or e^(a r) where s is 0");
    deviance.def("conjugates", of_rows<Loss, &Loss::conjugate_beside_log>, "s"_a, "theta"_a,
                 "l*(y, theta) - theta log y, rounded up; inf outside its domain");
}

void bind_deviances(nb::module_& m) {
    bind_deviance<Variance::mean>(m, "PoissonLoss");
    bind_deviance<Variance::square>(m, "GammaLoss");
    bind_deviance<Variance::other>(m, "TweedieLoss");
    nb::class_<NegativeBinomialLoss> binomial(m, "NegativeBinomialLoss",
                                              "Half the unit deviance of the negative binomial with a log link.");
    binomial.def(nb::init<double>(), "k"_a);
    bind_loss(binomial);
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<HingeLoss> hinge(m, "HingeLoss", "phi*(u) = u + curvature u^2 / 2 on [lower, 0].");
    hinge.def(nb::init<double, double>(), "lower"_a, "curvature"_a);
    bind_loss(hinge);
    nb::class_<GeneralizedHingeLoss> generalized(m, "GeneralizedHingeLoss", "phi*(u) = max(u, -1) on [-slope, 0].");
    generalized.def(nb::init<double>(), "slope"_a);
    bind_loss(generalized);
    nb::class_<LogisticLoss> logistic(m, "LogisticLoss", "phi(t) = log(1 + exp(-t)).");
    logistic.def(nb::init<>());
    bind_loss(logistic);
    logistic.def("values", [](const LogisticLoss&, In t) { return mapped(t, values<LogisticLoss>); }, "t"_a, "phi(t)");
    logistic.def("conjugates", [](const LogisticLoss&, In u) { return mapped(u, conjugates<LogisticLoss>); }, "u"_a,
                 "phi*(u), inf outside its domain");
    nb::class_<ResidualLoss> residual(m, "ResidualLoss",
                                      "phi*(u) = tube |u| + curvature u^2 / 2 on [lower, upper].");
    residual.def(nb::init<double, double, double, double>(), "lower"_a, "upper"_a, "tube"_a, "curvature"_a);
    bind_loss(residual);
    nb::class_<PiecewiseLinearLoss> linear(m, "PiecewiseLinearLoss", "phi linear between breakpoints.");
    linear.def("__init__",
               [](PiecewiseLinearLoss* self, std::vector<double> breakpoints, std::vector<double> slopes,
                  std::vector<double> values) {
                   require(!breakpoints.empty() && slopes.size() == breakpoints.size() + 1 && values.size() == breakpoints.size(),
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
        "Derivatives of the softmax loss in z: writes the first, the first times the weights, and of the second "
        "times the weights, diag(d) - e e', d and e; returns the weighted sum of the losses at z and of minus their "
        "conjugates at the first derivative.");
}

}  // namespace skpd
