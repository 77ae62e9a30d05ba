// The Python bindings of running sums over risk sets (maths/risk_sets.hpp has the formulas).
#include "maths/risk_sets.hpp"

#include <nanobind/stl/pair.h>

#include "bind/arrays.hpp"

namespace skpd {
namespace {

// starts (n_groups + 1), last (n_groups), log_weights and event_weights (n), and entries (n or 0)
void make(RiskSets* self, Indices starts, Indices last, In log_weights, In event_weights, Indices entries, bool efron) {
    const std::size_t n_groups = last.shape(0), n = log_weights.shape(0);
    require(starts.shape(0) == n_groups + 1 && event_weights.shape(0) == n,
            "starts must have an entry more than last, and a weight must be given for each row");
    require(n_groups > 0 && starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[n_groups]) == n,
            "starts must go from 0 to the number of rows");
    require(entries.shape(0) == 0 || entries.shape(0) == n, "entries must be empty or have one for each row");
    require_within(entries, n_groups, "entries must be groups");
    for (std::size_t g = 0; g < n_groups; ++g)
        require(starts.data()[g + 1] > starts.data()[g], "starts must increase: every group has a row");
    new (self) RiskSets({starts.data(), starts.data() + n_groups + 1}, {last.data(), last.data() + n_groups},
                        copied(log_weights), copied(event_weights), {entries.data(), entries.data() + entries.shape(0)},
                        efron);
}

void require_terms(const RiskSets& self, const In& z, const In& log_sums) {
    require(z.shape(0) == self.n_rows() && log_sums.shape(0) == self.n_terms(),
            "z must have a score for each row, and log_sums an entry for each term");
}

}  // namespace

void bind_risk_sets(nb::module_& m) {
    nb::class_<RiskSets>(m, "RiskSets")
        .def("__init__", &make)
        .def_prop_ro("max_terms", &RiskSets::max_terms)
        .def("log_sums", [](const RiskSets& self, In z) {
            require(z.shape(0) == self.n_rows(), "z must have a score for each row");
            std::vector<double> values(self.n_terms());
            const Compensated sum = without_lock([&] { return self.log_sums(z.data(), values.data()); });
            return nb::make_tuple(as_numpy(std::move(values)), sum.high + sum.low, sum.size);
        })
        .def("marginals", [](const RiskSets& self, In z, In log_sums) {
            require_terms(self, z, log_sums);
            return filled(self.n_rows(), [&](double* out) { self.marginals(z.data(), log_sums.data(), out); });
        })
        .def("entropy_of_events", [](const RiskSets& self, In z, In log_sums, double scale) {
            require_terms(self, z, log_sums);
            nb::gil_scoped_release release;
            const Compensated sum = self.entropy_of_events(z.data(), log_sums.data(), scale);
            return std::pair{sum.high + sum.low, sum.size};
        });
}

}  // namespace skpd
