// The Python bindings of running sums over risk sets (maths/risk_sets.hpp has the formulas).
#include "maths/risk_sets.hpp"

#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_risk_sets(nb::module_& m) {
    nb::class_<RiskSets> sets(m, "RiskSets",
        "The risk sets of n censored times in the order of strata and times, and log S_l of their terms.");
    sets.def(
        "__init__",
        [](RiskSets* self, Indices starts, Indices last, In log_weights, In event_weights,
           Indices entries, bool efron) {
            const std::size_t n_groups = last.shape(0), n = log_weights.shape(0);
            require(starts.shape(0) == n_groups + 1 && event_weights.shape(0) == n,
                    "starts must have an entry more than last, and a weight must be given for each row");
            require(n_groups > 0 && starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[n_groups]) == n,
                    "starts must go from 0 to the number of rows");
            require(entries.shape(0) == 0 || entries.shape(0) == n, "entries must be empty or have one for each row");
            for (std::size_t i = 0; i < entries.shape(0); ++i)
                require(entries.data()[i] >= 0 && static_cast<std::size_t>(entries.data()[i]) < n_groups,
                        "entries must be groups");
            for (std::size_t g = 0; g < n_groups; ++g)
                require(starts.data()[g + 1] > starts.data()[g], "starts must increase: every group has a row");
            new (self) RiskSets(std::vector<std::size_t>(starts.data(), starts.data() + n_groups + 1),
                                std::vector<std::uint8_t>(last.data(), last.data() + n_groups),
                                std::vector<double>(log_weights.data(), log_weights.data() + n),
                                std::vector<double>(event_weights.data(), event_weights.data() + n),
                                std::vector<std::size_t>(entries.data(), entries.data() + entries.shape(0)), efron);
        },
        "starts"_a, "last"_a, "log_weights"_a, "event_weights"_a, "entries"_a, "efron"_a,
        "Takes starts (n_groups + 1), last (n_groups), log_weights and event_weights (n), and entries (n or 0).");
    sets.def_prop_ro("max_terms", &RiskSets::max_terms, "The largest number of terms of a group.");
    sets.def(
        "log_sums",
        [](const RiskSets& self, In z) {
            require(z.shape(0) == self.n_rows(), "z must have a score for each row");
            std::vector<double> values(self.n_terms());
            const Compensated sum = without_lock([&] { return self.log_sums(z.data(), values.data()); });
            return nb::make_tuple(as_numpy(std::move(values)), sum.high + sum.low, sum.size);
        },
        "z"_a,
        "Returns log S_l (n_terms), their weighted sum, and the sum of its magnitudes.");
    sets.def(
        "marginals",
        [](const RiskSets& self, In z, In log_sums) {
            require(z.shape(0) == self.n_rows() && log_sums.shape(0) == self.n_terms(),
                    "z must have a score for each row, and log_sums an entry for each term");
            return filled(self.n_rows(), [&](double* out) { self.marginals(z.data(), log_sums.data(), out); });
        },
        "z"_a, "log_sums"_a,
        "Returns for each row (n) the weighted sum of its probabilities in the terms.");
    sets.def(
        "entropy_of_events",
        [](const RiskSets& self, In z, In log_sums, double scale) {
            require(z.shape(0) == self.n_rows() && log_sums.shape(0) == self.n_terms(),
                    "z must have a score for each row, and log_sums an entry for each term");
            nb::gil_scoped_release release;
            const Compensated sum = self.entropy_of_events(z.data(), log_sums.data(), scale);
            return std::pair{sum.high + sum.low, sum.size};
        },
        "z"_a, "log_sums"_a, "scale"_a,
        "Returns the weighted entropies of the events, and the sum of their magnitudes.");
}

}  // namespace skpd
