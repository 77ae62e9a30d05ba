"""What the page of block Frank-Wolfe says, by its own tables."""

import re
from math import inf

from tests.oracles.paper_pages import paper_page

PAGE = paper_page("frank_wolfe")
ACCURACIES = ("0.001", "0.0001", "1e-06")
OTHERS = ("Frank-Wolfe", "accelerated PG", "SVRG", "SFW", "SCGS", "STORC")
LINE_SEARCH, THEORY, BY_HAND = "PDBFW, line search", "PDBFW, theory", "PDBFW, delta x 1000"
STOCHASTIC = ("SVRG", "SFW", "SCGS", "STORC")


def seconds_and_passes(cell):
    """The numbers of a cell, infinite where the accuracy was not reached."""
    found = re.fullmatch(r"(\S+) \((\d+)\)", cell)
    return (float(found[1]), int(found[2])) if found else (inf, inf)


def over_the_l1_ball(*titles):
    """For each data set the methods, with seconds and passes to each accuracy."""
    methods = {}
    for row in (row for title in titles for row in PAGE.table(title)):
        reached = {name: seconds_and_passes(row[name]) for name in ACCURACIES}
        methods.setdefault(row["data"], {})[row["method"]] = reached
    return methods


BALLS = over_the_l1_ball("Figure 1", "Figure 3")


def gains(method):
    """The time of the best of the others over that of a method, for all that it reached."""
    values = []
    for methods in BALLS.values():
        for accuracy in ACCURACIES:
            best = min(methods[other][accuracy][0] for other in OTHERS)
            if methods[method][accuracy][0] < inf:
                values.append(best / methods[method][accuracy][0])
    return values


def test_the_steps_of_the_theory_over_the_l1_ball():
    PAGE.claims("Over the l1 ball it needs more than 25,000 passes with the steps of the theory")
    PAGE.claims("is behind accelerated gradients")
    for methods in BALLS.values():
        seconds, passes = methods[THEORY]["0.001"]
        assert passes > 25_000 and seconds > methods["accelerated PG"]["0.001"][0]


def test_the_line_search_over_the_l1_ball():
    PAGE.claims("With a line search it is at least four times as fast as the best of the others")
    assert len(gains(LINE_SEARCH)) == len(BALLS) * len(ACCURACIES)
    assert min(gains(LINE_SEARCH)) >= 4.0


def test_the_sparsity_of_the_optimum():
    PAGE.claims("with 78 % of the coefficients not 0 the line search is still ahead")
    dense = next(methods for data, methods in BALLS.items() if "77.9 % not 0" in data)
    for accuracy in ACCURACIES:
        best = min(dense[other][accuracy][0] for other in OTHERS)
        assert dense[LINE_SEARCH][accuracy][0] < best


def test_the_dual_step_by_hand_over_the_l1_ball():
    PAGE.claims(
        "with 1,000 times the dual step it needs less than a third of the passes of "
        "accelerated gradients to 1e-3, but does not reach it in 20 seconds with the ridge of "
        "1 / n"
    )
    for data, methods in BALLS.items():
        passes = methods[BY_HAND]["0.001"][1]
        if ", 1 / n" in data:
            assert passes == inf
        else:
            assert passes < methods["accelerated PG"]["0.001"][1] / 3


def test_the_cost_of_an_iteration():
    PAGE.claims("O(n s), not O(n d)")
    rows = PAGE.table("Table 1: the cost of an iteration")
    for steps in ("theory", "line-search"):
        costs = [(float(r["over n s"]), float(r["over n d"])) for r in rows if r["steps"] == steps]
        assert len(costs) == 3 and costs[-1][0] <= 1.2 * costs[0][0]
        assert costs[-1][1] <= costs[0][1] / 10


def over_the_trace_norm_ball():
    """For each rank and radius the methods, with their rows."""
    methods = {}
    for row in PAGE.table("Figure 2"):
        methods.setdefault((row["rank"], row["radius"]), {})[row["method"]] = row
    return methods


TRACE_BALLS = over_the_trace_norm_ball()
SOME_ROWS = "PDBFW, delta 10, 200 rows"


def test_the_steps_of_the_theory_over_the_trace_norm_ball():
    PAGE.claims("with the steps of the theory more than .8 of the objective of 0 is left")
    assert len(TRACE_BALLS) == 4
    for methods in TRACE_BALLS.values():
        assert methods[THEORY]["seconds"].startswith("> ")
        assert float(methods[THEORY]["excess"]) > 0.8


def test_the_steps_by_hand_over_the_trace_norm_ball():
    PAGE.claims("with a delta of 3 for all rows it needs 50 iterations")
    PAGE.claims("with 10 for the 200 rows of the largest moves 60 or 70, and less time")
    PAGE.claims("That is less than block Frank-Wolfe takes, as the paper has it")
    full = [methods for (_, radius), methods in TRACE_BALLS.items() if radius == "1"]
    assert len(full) == 3
    for methods in full:
        all_rows, some = methods["PDBFW, delta 3"], methods[SOME_ROWS]
        assert int(all_rows["iterations"]) == 50
        assert int(some["iterations"]) in (60, 70)
        assert float(some["seconds"]) < float(all_rows["seconds"])
        assert float(some["seconds"]) < float(methods["block Frank-Wolfe"]["seconds"])


def test_the_smaller_radius():
    PAGE.claims(
        "With .7 of the radius it needs 20 iterations for all rows but more than 100 for 200 "
        "rows, and block Frank-Wolfe is the fastest"
    )
    methods = TRACE_BALLS["10", "0.7"]
    assert int(methods["PDBFW, delta 3"]["iterations"]) == 20
    assert int(methods[SOME_ROWS]["iterations"]) > 100
    seconds = {name: row["seconds"].split(",")[0] for name, row in methods.items()}
    reached = {name: float(text) for name, text in seconds.items() if ">" not in text}
    assert len(reached) > 5 and min(reached, key=reached.get) == "block Frank-Wolfe"


def test_the_stochastic_methods_over_the_trace_norm_ball():
    PAGE.claims("SVRG, SFW, SCGS and STORC do not reach 1e-3 in 8 seconds")
    for methods in TRACE_BALLS.values():
        assert all(methods[name]["seconds"] == "> 8" for name in STOCHASTIC)


def test_the_rank_is_found():
    PAGE.claims("The rank of the matrix is found by all methods.")
    assert all(row["rank found"] == row["rank"] for row in PAGE.table("Figure 2"))
