// The Python bindings of the recursions along chains (maths/chains.hpp has the formulas).
#include "maths/chains.hpp"

#include "bind/arrays.hpp"

namespace skpd {
namespace {

// Makes the chains of these tokens; throws an error if tables and starts do not have fitting shapes.
Chains checked(const Indices& starts, const InTable& nodes, const InTable& transitions) {
    const std::size_t K = nodes.shape(1);
    require(K > 0 && have_shape(K, K, transitions),
            "transitions must have a row and a column for each label of the nodes");
    require(starts.shape(0) > 0 && starts.data()[0] == 0, "starts must begin with 0");
    for (std::size_t c = 1; c < starts.shape(0); ++c)
        require(starts.data()[c] > starts.data()[c - 1], "starts must increase: every chain has a token");
    require(static_cast<std::size_t>(starts.data()[starts.shape(0) - 1]) == nodes.shape(0),
            "the last of starts must be the number of tokens");
    return {starts.shape(0) - 1, K, starts.data()};
}

template <class... Tables>
void require_like(const InTable& other, const Tables&... tables) {
    require(have_shape(other.shape(0), other.shape(1), tables...), "the tables differ in shape");
}

void forward_pass(Indices starts, InTable nodes, InTable transitions, double range, Out log_partition, OutTable forward,
                  OutTable potentials) {
    const Chains chains = checked(starts, nodes, transitions);
    require(log_partition.shape(0) == chains.count, "log_partition must have a number for each chain");
    require_like(nodes, forward);
    require_like(transitions, potentials);
    nb::gil_scoped_release release;
    sum_forward(chains, nodes.data(), transitions.data(), range, log_partition.data(), forward.data(),
                potentials.data());
}

void backward_pass(Indices starts, InTable nodes, double range, InTable forward, InTable potentials, OutTable backward,
                   OutTable marginals, OutTable counts) {
    const Chains chains = checked(starts, nodes, potentials);
    require_like(nodes, forward, backward, marginals);
    require_like(potentials, counts);
    nb::gil_scoped_release release;
    sum_backward(chains, nodes.data(), range, forward.data(), potentials.data(), backward.data(), marginals.data(),
                 counts.data());
}

}  // namespace

void bind_chains(nb::module_& m) {
    m.def("chain_forward", &forward_pass);
    m.def("chain_backward", &backward_pass);
    m.def("chain_log_sums", [](Indices starts, InTable nodes, InTable transitions, Out log_partition) {
        const Chains chains = checked(starts, nodes, transitions);
        require(log_partition.shape(0) == chains.count, "log_partition must have a number for each chain");
        nb::gil_scoped_release release;
        log_sums(chains, nodes.data(), transitions.data(), log_partition.data());
    });
    m.def("chain_best_labels", [](Indices starts, InTable nodes, InTable transitions, Out values,
                                  Array<std::int64_t> labels) {
        const Chains chains = checked(starts, nodes, transitions);
        require(values.shape(0) == chains.count, "values must have a number for each chain");
        require(labels.shape(0) == nodes.shape(0), "labels must have a number for each token");
        nb::gil_scoped_release release;
        best_labelings(chains, nodes.data(), transitions.data(), values.data(), labels.data());
    });
}

}  // namespace skpd
