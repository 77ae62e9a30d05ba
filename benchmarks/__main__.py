"""Run a benchmark by name."""

import argparse
import importlib

NAMES = {
    "blocks": "fits on a file that is read in blocks: time, passes and memory",
    "boosting": "LPBoost over all stumps: certified, and beside HiGHS",
    "certificates": "no certificate above the optimum of an independent solver",
    "certify": "certificates of other packages' models against an independent solver",
    "chains": "labels of sequences: certified, and beside CRFsuite and Clarabel",
    "constant_models": "each model whose coefficients are all 0 says so once, and no other",
    "cliffs": "fits that suddenly take long, of 42 models along their alphas",
    "coefficients": "no optimal coefficient outside of what a certificate says of it",
    "corners": "fits that were slow, each beside what it is measured by",
    "completion": "matrix completion: certified, beside Clarabel and soft-impute, and large",
    "drsvm": "the robust SVM against Clarabel, dro and its paper's tables",
    "everyday": "the default solver on data that people try first, beside HiGHS and Clarabel",
    "free_features": "features without a penalty: certified, and beside HiGHS and Clarabel",
    "fuzz": "random small fits of any loss, penalty and scale: no error, none that gives up;"
    " with --newer of all newer models, objectives recomputed exactly",
    "extremes": "scales from 1e-310 to 1e200, beside what finite coefficients reach",
    "small_fits": "time of fits and grid searches of small tables over that of scikit-learn",
    "small_problems": "random small models of kernels, norms and groups, beside Clarabel",
    "gap_proofs": "what a gap says of predictions, decisions, rows and paths, beside optima",
    "kernels": "kernel machines beside scikit-learn's SVC, and three kernels on digits",
    "likelihoods": "random fits of counts, costs, times and ordered classes beside Clarabel",
    "multivariate": "F1 optimised as such beside LinearSVC, and small problems beside Clarabel",
    "mutations": "changes of the code that its tests do not notice",
    "noise_budget": "a budget of multipliers: certified, and beside the table of its paper",
    "outputs": "several outputs, tasks and classes: certified, and beside Clarabel",
    "panel": "two hundred fits bit by bit, beside those of another state of the code",
    "papers": "the tables and figures of the papers, each number beside ours",
    "paths": "time of a regularisation path against the path functions of other solvers",
    "peers": "time to an accuracy against other solvers of the same models",
    "products": "products with the data that a fit makes",
    "tables": "everyday tables of many shapes: fits that take several times scikit-learn's",
    "unpenalised": "coefficients that no penalty holds, beside Newton steps of 50 digits",
    "unpenalised_speed": "the same beside statsmodels, lifelines, scikit-survival and glum",
    "workers": "fits on the workers of a Dask cluster: cost, memory, faults, and beside dask-ml",
    "scaling": "time and memory as rows and features grow, and their slopes",
}


def main():
    listing = "\n".join(f"  {name:18} {what}" for name, what in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed to the benchmark")
    options = parser.parse_args()
    importlib.import_module(f"benchmarks.{options.name}").main(options.arguments)


if __name__ == "__main__":
    main()
