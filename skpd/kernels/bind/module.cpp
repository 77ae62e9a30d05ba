// Python bindings of the compiled kernels. Arrays are borrowed, never copied.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/bindings.hpp"
#include "methods/dual_descent.hpp"
#include "maths/losses.hpp"
#include "data/matrix.hpp"
#include "maths/norms.hpp"
#include "maths/projections.hpp"
#include "methods/quadratic.hpp"
#include "data/row_pass.hpp"

using namespace nanobind::literals;
using namespace skpd;

namespace {

template <class T, class I>
void bind_sparse(nb::class_<Matrix>& matrix) {
    matrix.def_static("sparse", &Matrix::sparse<T, I>, "data"_a.noconvert(), "indices"_a.noconvert(),
                      "indptr"_a.noconvert(), "n_rows"_a, "n_columns"_a, "by_row"_a, "n_threads"_a = 1);
}

template <class Loss>
void bind_loss(nb::class_<Loss>& bound) {
    bound.def(
        "smoothed_derivatives",
        [](const Loss& loss, In y, In weights, In theta, In z, double sigma, Out derivative, Out gradient,
           Out curvature) {
            const std::size_t n = z.shape(0);
            for (const std::size_t size : {y.shape(0), weights.shape(0), theta.shape(0), derivative.shape(0),
                                           gradient.shape(0), curvature.shape(0)})
                require(size == n, "y, weights, theta, z and the outputs differ in length");
            nb::gil_scoped_release release;
            double primal = 0.0, dual = 0.0;
            smoothed_derivatives(Smoothed<Loss>{loss, sigma}, n, y.data(), weights.data(), theta.data(), z.data(),
                                 derivative.data(), gradient.data(), curvature.data(), &primal, &dual);
            return std::make_pair(primal, dual);
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "sigma"_a, "derivative"_a, "gradient"_a, "curvature"_a,
        "Derivatives in z of the loss (sigma inf) or of its Moreau envelope shifted by theta: writes the first, "
        "the first times the weights and the second, over sigma if finite, times the weights; returns the weighted sum of the losses "
        "at z, and of minus their conjugates at the first derivative.");
    bound.def(
        "rows_that_bend",
        [](const Loss& loss, In y, In theta, In z, double sigma, In derivative, In curvature, double radius) {
            const std::size_t n = z.shape(0);
            for (const std::size_t size : {y.shape(0), theta.shape(0), derivative.shape(0), curvature.shape(0)})
                require(size == n, "y, theta, z and what is known there differ in length");
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
            require(y.shape(0) == n && weights.shape(0) == n && theta.shape(0) == n && direction.shape(0) == n,
                    "y, weights, theta, z and direction differ in length");
            nb::gil_scoped_release release;
            return smoothed_slope(Smoothed<Loss>{loss, sigma}, n, y.data(), weights.data(), theta.data(), z.data(),
                                  direction.data(), step);
        },
        "y"_a, "weights"_a, "theta"_a, "z"_a, "direction"_a, "step"_a, "sigma"_a,
        "Derivative along direction, at z + step direction, of the weighted sum of the smoothed losses.");
    bound.def(
        "prox_conjugate",
        [](const Loss& loss, In y, In theta, In step) {
            const std::size_t n = theta.shape(0);
            require(y.shape(0) == n && step.shape(0) == n, "y, theta and step differ in length");
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

using AnyLoss = std::variant<const HingeLoss*, const GeneralizedHingeLoss*, const LogisticLoss*, const ResidualLoss*>;

}  // namespace

namespace skpd {
void bind_block_frank_wolfe(nb::module_& m);
void bind_column_quadratic(nb::module_& m);
void bind_coordinates(nb::module_& m);
void bind_dual_products(nb::module_& m);
void bind_incremental(nb::module_& m);
void bind_interior(nb::module_& m);
void bind_separable_quadratic(nb::module_& m);
void bind_total_variation(nb::module_& m);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels of skpd: products, row passes, projections.";

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

    nb::class_<Matrix> matrix(m, "Matrix", "A dense or sparse matrix whose arrays are borrowed.");
    matrix.def_static("dense", &Matrix::dense<double>, "table"_a.noconvert(), "by_columns"_a = false,
                      "n_threads"_a = 1);
    matrix.def_static("dense", &Matrix::dense<float>, "table"_a.noconvert(), "by_columns"_a = false,
                      "n_threads"_a = 1);
    bind_sparse<double, std::int32_t>(matrix);
    bind_sparse<float, std::int32_t>(matrix);
    bind_sparse<double, std::int64_t>(matrix);
    bind_sparse<float, std::int64_t>(matrix);
    matrix.def_prop_ro("n_rows", &Matrix::n_rows)
        .def_prop_ro("n_columns", &Matrix::n_columns)
        .def_prop_ro("by_row", &Matrix::by_row)
        .def_prop_ro("n_entries", &Matrix::n_entries, "Entries that are stored.")
        .def("matvec", &Matrix::matvec<Identity>, "coef"_a, "X coef")
        .def("rmatvec", &Matrix::rmatvec<Identity>, "rows"_a, "X' rows")
        .def("rmatvec_some", &Matrix::rmatvec_some, "rows"_a, "columns"_a, "X_W' rows, for a matrix that is dense or stored by columns")
        .def("matvec_absolute", &Matrix::matvec<Absolute>, "coef"_a, "|X| coef")
        .def("rmatvec_absolute", &Matrix::rmatvec<Absolute>, "rows"_a, "|X|' rows")
        .def("matvec_square", &Matrix::matvec<Square>, "coef"_a, "(X * X) coef")
        .def("rmatvec_square", &Matrix::rmatvec<Square>, "rows"_a, "(X * X)' rows")
        .def("matvec_compensated", &Matrix::matvec_compensated, "coef"_a, "intercept"_a,
             "X coef + intercept as an unevaluated sum high + low, and a bound on its error.")
        .def("matvec_bounded", &Matrix::matvec_bounded, "coef"_a, "intercept"_a,
             "X coef + intercept and a bound on its rounding error.")
        .def("rmatvec_bounded", &Matrix::rmatvec_bounded, "weights"_a, "rows"_a,
             "X' (weights * rows) and a bound on its rounding error.")
        .def("rmatvec_compensated", &Matrix::rmatvec_compensated, "weights"_a, "rows"_a,
             "X' (weights * rows) as an unevaluated sum high + low, and a bound on its error.")
        .def(
            "gram",
            [](const Matrix& self, In h, Array<const std::int64_t> columns, bool ones, nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
                self.gram(h, columns, ones, out.data(), out.shape(0), out.shape(1));
            },
            "h"_a, "columns"_a, "ones"_a, "out"_a,
            "X_W' diag(h) X_W over the columns W, in increasing order, with a last column of ones if asked for.")
        .def(
            "cross_gram",
            [](const Matrix& self, In h, Array<const std::int64_t> left, Array<const std::int64_t> right, bool ones,
               nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
                self.cross_gram(h, left, right, ones, out.data(), out.shape(0), out.shape(1));
            },
            "h"_a, "left"_a, "right"_a, "ones"_a, "out"_a,
            "X_R' diag(h) [X_L X_R] over disjoint columns L and R, with a last column X_R' h if asked for.")
        .def(
            "reflected_halpern_step",
            [](const Matrix& self, AnyLoss any_loss, In y, In weights, In step, In anchor, double scale,
               double momentum, In coef, double intercept, Out theta, Out prox, Out gradient) {
                for (const auto* array : {&y, &weights, &step, &anchor})
                    require(array->shape(0) == self.n_rows(), "the vector does not fit the matrix");
                require(theta.shape(0) == self.n_rows() && prox.shape(0) == self.n_rows(),
                        "the vector does not fit the matrix");
                return std::visit(
                    [&](const auto* loss) {
                        return self.row_pass(
                            coef, intercept, gradient,
                            ReflectedHalpern<std::remove_cvref_t<decltype(*loss)>>{
                                *loss, y.data(), weights.data(), step.data(), anchor.data(), scale, momentum,
                                theta.data(), prox.data()});
                    },
                    any_loss);
            },
            "loss"_a, "y"_a, "weights"_a, "step"_a, "anchor"_a, "scale"_a, "momentum"_a, "coef"_a, "intercept"_a,
            "theta"_a, "prox"_a, "gradient"_a,
            "Dual half of a reflected Halpern step in one pass over the rows: overwrites theta and prox with the "
            "new dual iterate and its proximal step, gradient with X' (weights * theta); returns weights . theta.");

    nb::class_<DualDescent>(m, "DualDescent", "A dual coordinate descent and its iterates.")
        .def(
            "run", &DualDescent::run, "target"_a, "max_epochs"_a, "max_visits"_a,
            nb::call_guard<nb::gil_scoped_release>(),
            "Epochs until the gap is at most the target, or so many epochs or visits of rows; their numbers and the "
            "gap, inf where it is not known to be below.")
        .def("recentre", &DualDescent::recentre, "Moves the offset to the intercept; returns sum_i c_i theta_i.")
        .def("refresh", &DualDescent::refresh, "Computes the primal point from theta.")
        .def("theta", [](const DualDescent& self) { return as_numpy(self.theta()); }, "The dual point.")
        .def("variables", [](const DualDescent& self) { return as_numpy(self.variables()); }, "The primal point v.");
    matrix.def(
        "dual_descent",
        [](const Matrix& self, AnyLoss any_loss, In y, In weights, In theta, double alpha, double constant,
           double offset, std::uint64_t seed) {
            return std::visit(
                [&](const auto* loss) {
                    return self.dual_descent(*loss, y, weights, theta, alpha, constant, offset, seed);
                },
                any_loss);
        },
        "loss"_a, "y"_a, "weights"_a, "theta"_a, "alpha"_a, "constant"_a, "offset"_a, "seed"_a, nb::keep_alive<0, 1>(),
        "Dual coordinate descent with a constant feature, from theta.");

    using Square2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    m.def(
        "coordinate_descent",
        [](Square2 H, std::size_t n_penalised, const SeparableTerms& terms, Out p, Out r, int sweeps, double tol) {
            const std::size_t n = p.shape(0);
            require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n && n_penalised <= n && terms.fit(n_penalised),
                    "H, terms, p and r differ in length");
            nb::gil_scoped_release release;
            return coordinate_descent(H.data(), n, n_penalised, terms, p.data(), r.data(), sweeps, tol);
        },
        "H"_a, "n_penalised"_a, "terms"_a, "p"_a, "r"_a, "sweeps"_a, "tol"_a,
        "Coordinate descent on a quadratic with gradient r at p; updates both, returns the last largest change.");
    m.def(
        "step_on_support",
        [](Square2 H, std::size_t n_penalised, const SeparableTerms& terms,
           Array<const std::int64_t> support, In step, Out p, Out r) {
            const std::size_t n = p.shape(0), k = support.shape(0);
            require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n && n_penalised <= n && step.shape(0) == k && terms.fit(n_penalised),
                    "H, terms, p, r and step differ in length");
            for (std::size_t a = 0; a < k; ++a)
                require(support.data()[a] >= 0 && support.data()[a] < static_cast<std::int64_t>(n),
                        "an index lies outside the matrix");
            nb::gil_scoped_release release;
            step_on_support(H.data(), n, n_penalised, terms, support.data(), k, step.data(), p.data(), r.data());
        },
        "H"_a, "n_penalised"_a, "terms"_a, "support"_a, "step"_a, "p"_a, "r"_a,
        "A step of the support's coordinates that lowers a quadratic with gradient r at p; updates both.");
    m.def(
        "block_coordinate_descent",
        [](Square2 H, Array<const std::int64_t> starts, In weights, double l1, Out p, Out r, int sweeps, double tol) {
            const std::size_t n = p.shape(0), n_groups = weights.shape(0);
            require(H.shape(0) == n && H.shape(1) == n && r.shape(0) == n, "H, p and r differ in length");
            require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
            for (std::size_t g = 0; g < n_groups; ++g)
                require(starts.data()[g] >= 0 && starts.data()[g] <= starts.data()[g + 1] &&
                            starts.data()[g + 1] <= static_cast<std::int64_t>(n),
                        "starts must increase up to the length of p");
            nb::gil_scoped_release release;
            return block_coordinate_descent(H.data(), n, starts.data(), n_groups, weights.data(), l1, p.data(),
                                            r.data(), sweeps, tol);
        },
        "H"_a, "starts"_a, "weights"_a, "l1"_a, "p"_a, "r"_a, "sweeps"_a, "tol"_a,
        "Block coordinate descent on a quadratic with gradient r at p; updates both, returns the last largest change.");
    m.def(
        "principal_submatrix",
        [](Square2 H, Array<const std::int64_t> indices,
           nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
            const std::size_t n = H.shape(0), k = indices.shape(0);
            require(H.shape(1) == n && out.shape(0) == k && out.shape(1) == k, "H or out has the wrong shape");
            for (std::size_t a = 0; a < k; ++a)
                require(indices.data()[a] >= 0 && indices.data()[a] < static_cast<std::int64_t>(n),
                        "an index lies outside the matrix");
            nb::gil_scoped_release release;
            for (std::size_t a = 0; a < k; ++a) {
                const double* row = H.data() + static_cast<std::size_t>(indices.data()[a]) * n;
                for (std::size_t b = 0; b < k; ++b) out.data()[a * k + b] = row[indices.data()[b]];
            }
        },
        "H"_a, "indices"_a, "out"_a, "The rows and columns of H with these indices.");
    m.def(
        "dot",
        [](In a, In b) {
            require(a.shape(0) == b.shape(0), "a and b differ in length");
            return dense_dot(a.data(), b.data(), a.shape(0));
        },
        "a"_a, "b"_a, "a'b by one thread: those of BLAS wait for each other where cores are busy.");
    m.def(
        "compensated_dot",
        [](In a, In b, std::optional<In> c) {
            require(a.shape(0) == b.shape(0) && (!c || b.shape(0) == c->shape(0)), "a, b and c differ in length");
            constexpr std::size_t block = 1024;  // whose products stay in the cache
            const std::size_t n = a.shape(0);
            double high[block], low[block], ones[block];
            std::fill(ones, ones + (c ? 0 : block), 1.0);
            Compensated sum;
            std::size_t n_terms = n;
            for (std::size_t first = 0; first < n; first += block) {
                const std::size_t size = std::min(block, n - first);
                exact_products(a.data() + first, b.data() + first, high, low, size);
                sum.add(dense_dot_compensated(c ? c->data() + first : ones, high, low, size));
                n_terms += std::min<std::size_t>(size, 12) + 1;  // the sums of the lanes and of the blocks
            }
            const Rounded rounded(sum, n_terms);
            return std::make_pair(rounded.high, rounded.error + std::fabs(rounded.low));
        },
        "a"_a, "b"_a, "c"_a = nb::none(),
        "sum_i a_i b_i c_i in twice the working precision, and a bound on its error; c_i is 1 if not given.");
    m.def(
        "project_box_hyperplane",
        [](In point, In lower, In upper, In normal, In metric, double total) {
            const std::size_t n = point.shape(0);
            for (const auto* array : {&lower, &upper, &normal, &metric})
                require(array->shape(0) == n, "point, lower, upper, normal and metric differ in length");
            const double eta = box_hyperplane_multiplier(point.data(), lower.data(), upper.data(), normal.data(),
                                                         metric.data(), total, n);
            require(!std::isnan(eta), "no point of the box lies on the hyperplane");
            std::vector<double> out(n);
            for (std::size_t i = 0; i < n; ++i) {
                const double shift = normal.data()[i] == 0.0 ? 0.0 : eta * normal.data()[i] / metric.data()[i];
                out[i] = std::clamp(point.data()[i] - shift, lower.data()[i], upper.data()[i]);
            }
            return as_numpy(std::move(out));
        },
        "point"_a, "lower"_a, "upper"_a, "normal"_a, "metric"_a, "total"_a,
        "argmin over lower <= x <= upper, normal . x = total of sum_i metric_i (x_i - point_i)^2.");
    m.def(
        "project_simplex",
        [](In point, double total) {
            const std::size_t n = point.shape(0);
            require(n > 0 && total >= 0.0, "a simplex needs a coordinate and a total of at least 0");
            const std::vector<double> zeros(n, 0.0), ones(n, 1.0);
            const std::vector<double> infinite(n, std::numeric_limits<double>::infinity());
            const double eta = box_hyperplane_multiplier(point.data(), zeros.data(), infinite.data(), ones.data(),
                                                         ones.data(), total, n);
            std::vector<double> out(n);
            for (std::size_t i = 0; i < n; ++i) out[i] = std::max(point.data()[i] - eta, 0.0);
            return as_numpy(std::move(out));
        },
        "point"_a, "total"_a, "Projection onto {x >= 0, sum(x) = total}.");
    m.def(
        "project_l1_ball",
        [](In point, double radius) {
            require(radius >= 0.0, "the radius of a ball must be at least 0");
            const double eta = l1_ball_threshold(point.data(), radius, point.shape(0));
            std::vector<double> out(point.shape(0));
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = std::copysign(std::max(std::fabs(point.data()[i]) - eta, 0.0), point.data()[i]);
            return as_numpy(std::move(out));
        },
        "point"_a, "radius"_a, "Projection onto {||x||_1 <= radius}.");
    m.def("max_abs", [](In x) { return max_abs(x.data(), x.shape(0)); }, "x"_a, "max_j |x_j|, 0 of no numbers.");
    m.def("sum_abs", [](In x) { return sum_abs(x.data(), x.shape(0)); }, "x"_a, "sum_j |x_j|.");
    m.def("euclidean_norm", [](In x) { return euclidean_norm(x.data(), x.shape(0)); }, "x"_a,
          "||x||_2, without under- or overflow on the way.");
    m.def(
        "equal",
        [](In a, In b) { return a.shape(0) == b.shape(0) && std::equal(a.data(), a.data() + a.shape(0), b.data()); },
        "a"_a, "b"_a, "Whether two vectors are the same, number by number.");
    m.def(
        "equal",
        [](Array<const std::int64_t> a, Array<const std::int64_t> b) {
            return a.shape(0) == b.shape(0) && std::equal(a.data(), a.data() + a.shape(0), b.data());
        },
        "a"_a, "b"_a);
    m.def(
        "excess",
        [](In x, double threshold) {
            std::vector<double> out;
            for (std::size_t j = 0; j < x.shape(0); ++j)
                if (const double rest = std::fabs(x.data()[j]) - threshold; !(rest <= 0.0)) out.push_back(rest);
            return as_numpy(std::move(out));
        },
        "x"_a, "threshold"_a, "What of |x_j| is above a threshold, where anything is; NaN is.");
    m.def(
        "without_negligible",
        [](In x, double share) {
            const double least = share * max_abs(x.data(), x.shape(0));
            std::vector<double> out(x.data(), x.data() + x.shape(0));
            for (double& value : out) value = std::fabs(value) > least ? value : 0.0;
            return as_numpy(std::move(out));
        },
        "x"_a, "share"_a, "A copy with 0 for what is at most a share of the largest magnitude.");
    m.def(
        "group_norms",
        [](In x, Array<const std::int64_t> order, Array<const std::int64_t> starts) {
            require(starts.shape(0) > 0, "starts must hold one entry more than there are groups");
            const std::size_t size = order.shape(0);
            std::vector<double> out(starts.shape(0) - 1), group(size);
            for (std::size_t a = 0; a < size; ++a) {
                const std::int64_t j = order.data()[a];
                require(j >= 0 && j < static_cast<std::int64_t>(x.shape(0)), "order must hold places in x");
                group[a] = x.data()[j];
            }
            for (std::size_t g = 0; g < out.size(); ++g) {
                const auto first = static_cast<std::size_t>(starts.data()[g]);
                const auto last = static_cast<std::size_t>(starts.data()[g + 1]);
                require(first <= last && last <= size, "starts must increase up to the length of order");
                out[g] = euclidean_norm(group.data() + first, last - first);
            }
            return as_numpy(std::move(out));
        },
        "x"_a, "order"_a, "starts"_a, "The Euclidean norm of each group of the entries of x in this order.");
    m.def(
        "allocate_and_free",
        [](std::size_t n_bytes) {
            void* volatile block = std::malloc(n_bytes);  // volatile, or the pair would be left out
            std::free(block);
        },
        "n_bytes"_a, "Allocates so many bytes and frees them, untouched.");
    m.def(
        "sparse_group_dual_norms",
        [](In x, Array<const std::int64_t> starts, In weights, double l1_ratio) {
            const std::size_t n_groups = weights.shape(0);
            require(starts.shape(0) == n_groups + 1, "starts must hold one entry more than there are groups");
            std::vector<double> out(n_groups);
            for (std::size_t g = 0; g < n_groups; ++g) {
                const auto first = static_cast<std::size_t>(starts.data()[g]);
                const auto last = static_cast<std::size_t>(starts.data()[g + 1]);
                require(first <= last && last <= x.shape(0), "starts must increase up to the length of x");
                out[g] = sparse_group_dual_norm(x.data() + first, last - first, l1_ratio, weights.data()[g]);
            }
            return as_numpy(std::move(out));
        },
        "x"_a, "starts"_a, "weights"_a, "l1_ratio"_a,
        "For each group, the dual norm of l1_ratio ||.||_1 + (1 - l1_ratio) weight ||.||_2.");
    bind_block_frank_wolfe(m);
    bind_column_quadratic(m);
    bind_coordinates(m);
    bind_dual_products(m);
    bind_incremental(m);
    bind_interior(m);
    bind_separable_quadratic(m);
    bind_total_variation(m);
}
