// The Python bindings of the losses (maths/losses.hpp and deviances.hpp have the formulas).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bind/matrix.hpp"
#include "maths/deviances.hpp"
#include "maths/losses.hpp"
#include "methods/newton_on_table.hpp"

namespace skpd {
namespace {

// Binds all Newton steps on a small table, for a loss that has a curvature wherever it has a slope.
template <class Loss>
void bind_newton_steps(nb::class_<Loss>& bound) {
    bound.def("newton_steps", [](const Loss& loss, const Matrix& matrix, In y, In weights,
                                 const SeparableCoordinates& penalty, const NewtonGoal& goal,
                                 const NewtonSettings& settings, int max_steps, Out variables, Out derivative) {
        const std::size_t n = matrix.n_rows(), d = matrix.n_columns(), m = variables.shape(0);
        require(have_length(n, y, weights, derivative) && (m == d || m == d + 1) && penalty.n_penalised() == d &&
                    goal.sizes.size() == d,
                "y, weights, penalty, goal, variables and derivative do not fit the matrix");
        nb::gil_scoped_release release;
        const TableWithOnes table{matrix.layout(), matrix.by_row(), n, d, m > d};
        return NewtonOnTable<Loss>(loss, table, y.data(), weights.data(), penalty, goal, settings, variables.data(),
                                   derivative.data())
            .minimise(max_steps);
    });
}

// The functions of a loss as a smooth function of the predictions, which is the loss itself or its Moreau envelope
template <class Loss>
auto derivatives_of_smoothed(const Loss& loss, In y, In weights, In theta, In z, double sigma, Out derivative,
                             Out gradient, Out curvature) {
    const std::size_t n = z.shape(0);
    require_length(n, y, weights, theta, derivative, gradient, curvature);
    nb::gil_scoped_release release;
    return with_smooth(loss, sigma, [&](const auto& smooth) {
        return smoothed_derivatives(smooth, n, y.data(), weights.data(), theta.data(), z.data(), derivative.data(),
                                    gradient.data(), curvature.data());
    });
}
template <class Loss>
auto bending_rows(const Loss& loss, In y, In theta, In z, double sigma, In derivative, In curvature, double radius) {
    const std::size_t n = z.shape(0);
    require_length(n, y, theta, derivative, curvature);
    return as_numpy(without_lock([&] {
        return with_smooth(loss, sigma, [&](const auto& smooth) {
            return rows_that_bend(smooth, n, y.data(), theta.data(), z.data(), derivative.data(), curvature.data(),
                                  radius);
        });
    }));
}
template <class Loss>
double slope_of_smoothed(const Loss& loss, In y, In weights, In theta, In z, In direction, double step, double sigma) {
    const std::size_t n = z.shape(0);
    require_length(n, y, weights, theta, direction);
    nb::gil_scoped_release release;
    return with_smooth(loss, sigma, [&](const auto& smooth) {
        return smoothed_slope(smooth, n, y.data(), weights.data(), theta.data(), z.data(), direction.data(), step);
    });
}

// argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i) for each row; all vectors have n entries
template <class Loss>
auto prox_conjugate(const Loss& loss, In y, In theta, In step) {
    const std::size_t n = theta.shape(0);
    require_length(n, y, step);
    return filled(n, [&](double* out) {
        for (std::size_t i = 0; i < n; ++i) out[i] = dual_prox(loss, y.data()[i], theta.data()[i], 0.0, step.data()[i]);
    });
}

template <class Loss>
nb::class_<Loss> bind_loss(nb::module_& m, const char* name) {
    return nb::class_<Loss>(m, name)
        .def("smoothed_derivatives", &derivatives_of_smoothed<Loss>)
        .def("rows_that_bend", &bending_rows<Loss>)
        .def("smoothed_slope", &slope_of_smoothed<Loss>)
        .def("prox_conjugate", &prox_conjugate<Loss>);
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
    require_length(n, others...);
    return filled(n, [&](double* out) { map_rows<function>(loss, n, out, first.data(), others.data()...); });
}

template <Variance variance>
void bind_deviance(nb::module_& m, const char* name) {
    using Loss = DevianceLoss<variance>;
    bind_newton_steps(bind_loss<Loss>(m, name)
                          .def(nb::init<double>())
                          .def("values", of_rows<&Loss::value, Loss, In>)
                          .def("derivatives", of_rows<&Loss::derivative, Loss, In>)
                          .def("conjugates", of_rows<&Loss::conjugate_without_log_term, Loss, In>));
}

void make_piecewise_linear(PiecewiseLinearLoss* self, std::vector<double> breakpoints, std::vector<double> slopes,
                           std::vector<double> values) {
    const std::size_t n = breakpoints.size();
    require(n > 0 && slopes.size() == n + 1 && values.size() == n, "breakpoints, slopes and values differ in length");
    new (self) PiecewiseLinearLoss{std::move(breakpoints), std::move(slopes), std::move(values)};
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<NewtonGoal>(m, "NewtonGoal").def(nb::init<double, double, double, double, std::vector<double>>());
    nb::class_<NewtonSettings>(m, "NewtonSettings").def(nb::init<double, double, double, double, int, int, int>());
    bind_newton_steps(bind_loss<HingeLoss>(m, "HingeLoss").def(nb::init<double, double>()));
    bind_loss<GeneralizedHingeLoss>(m, "GeneralizedHingeLoss").def(nb::init<double>());
    bind_newton_steps(bind_loss<LogisticLoss>(m, "LogisticLoss")
                          .def(nb::init<>())
                          .def("values", of_rows<&LogisticLoss::value, LogisticLoss>)
                          .def("conjugates", of_rows<&LogisticLoss::extended_conjugate, LogisticLoss>));
    bind_newton_steps(bind_loss<ResidualLoss>(m, "ResidualLoss").def(nb::init<double, double, double, double>()));
    bind_loss<PiecewiseLinearLoss>(m, "PiecewiseLinearLoss").def("__init__", &make_piecewise_linear);
    bind_deviance<Variance::mean>(m, "PoissonLoss");
    bind_deviance<Variance::square>(m, "GammaLoss");
    bind_deviance<Variance::other>(m, "TweedieLoss");
    bind_newton_steps(bind_loss<NegativeBinomialLoss>(m, "NegativeBinomialLoss").def(nb::init<double>()));
}

}  // namespace skpd
