// The Python bindings of projections onto boxes with a hyperplane and onto l1 balls, and of the proximal operator and
// dual norms of total variation penalties (maths/box_hyperplane.hpp, epigraph.hpp and total_variation.hpp have the
// formulas). The `error` of a dual norm bounds the sum of the errors of v.
#include <cmath>

#include "bind/arrays.hpp"
#include "maths/epigraph.hpp"
#include "maths/box_hyperplane.hpp"
#include "maths/total_variation.hpp"

namespace skpd {
namespace {

// argmin over lower <= x <= upper, normal . x = total of sum_i metric_i (x_i - point_i)^2
auto project_box_hyperplane(In point, In lower, In upper, In normal, In metric, double total) {
    const std::size_t n = point.shape(0);
    require_length(n, lower, upper, normal, metric);
    const double eta = box_hyperplane_multiplier(point.data(), lower.data(), upper.data(), normal.data(), metric.data(),
                                                 total, n);
    require(!std::isnan(eta), "no point of the box lies on the hyperplane");
    return filled(n, [&](double* out) {
        for (std::size_t i = 0; i < n; ++i) {
            const double shift = normal.data()[i] == 0.0 ? 0.0 : eta * normal.data()[i] / metric.data()[i];
            out[i] = std::clamp(point.data()[i] - shift, lower.data()[i], upper.data()[i]);
        }
    });
}

// argmin over z of ||z - x||^2 / 2 + sum_g radii_g max_j |z_gj| over groups of order; x (n)
auto prox_of_largest_entries(In x, Indices order, Indices starts, In radii) {
    const std::size_t n_groups = radii.shape(0);
    require_starts(starts, n_groups, order.shape(0));
    require_within(order, x.shape(0), "order must hold indices of x");
    std::vector<double> out(x.shape(0)), group;
    const std::int64_t* index = order.data();
    for (std::size_t g = 0; g < n_groups; ++g) {
        const std::int64_t first = starts.data()[g], end = starts.data()[g + 1];
        group.resize(end - first);
        for (std::int64_t a = first; a < end; ++a) group[a - first] = x.data()[index[a]];
        prox_of_largest(group.data(), group.size(), radii.data()[g]);
        for (std::int64_t a = first; a < end; ++a) out[index[a]] = group[a - first];
    }
    return as_numpy(std::move(out));
}

}  // namespace

void bind_projections(nb::module_& m) {
    m.def("project_box_hyperplane", &project_box_hyperplane);
    m.def("project_l1_ball", [](In point, double radius) {
        require(radius >= 0.0, "the radius of a ball must be at least 0");
        std::vector<double> out = copied(point);
        L1Epigraph::project_ball(out.data(), out.size(), radius);
        return as_numpy(std::move(out));
    });
    m.def("prox_of_largest_entries", &prox_of_largest_entries);
    m.def("prox_total_variation", [](In y, double weight) {
        return as_numpy(prox_total_variation(y.data(), weight, y.shape(0)));
    });
    m.def("total_variation_dual_norm", [](In v, double error) {
        return total_variation_dual_norm(v.data(), error, v.shape(0));
    });
    m.def("fused_dual_norm", [](In v, double error, double l1, double l2) {
        return fused_dual_norm(v.data(), error, v.shape(0), l1, l2);
    });
}

}  // namespace skpd
