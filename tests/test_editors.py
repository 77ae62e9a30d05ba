"""What editors and type checkers, which read the source and run nothing, know of the package."""

import html
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, Union, get_args, get_origin

import pytest

import skpd
from skpd.estimators import logistic, matrix_completion, multinomial, names, ordinal
from skpd.estimators import output_parameters as of_outputs

USE = Path(__file__).with_name("ordinary_use.py")
ESTIMATORS = [
    name for name in skpd.__all__
    if hasattr(getattr(skpd, name), "_parameter_constraints") and name != "BlockScaler"
]  # fmt: skip


def names_in(hint):
    """The names that an annotation allows, which editors complete."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    parts = get_args(hint) if get_origin(hint) is Union else ()
    return {name for part in parts for name in names_in(part)}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_annotations_have_the_names_that_are_allowed(name):
    kind = getattr(skpd, name)
    allowed = {
        parameter: {
            option for each in constraints for option in getattr(each, "options", ())
            if isinstance(option, str)
        }
        for parameter, constraints in kind._parameter_constraints.items()
        if parameter not in ("groups", "scoring")  # a union of many types; all of scikit-learn's
    }  # fmt: skip
    annotated = {parameter: names_in(kind.__annotations__[parameter]) for parameter in allowed}
    assert annotated == allowed
    assert any(allowed.values())


@pytest.mark.parametrize(
    "name, parameter, table",
    [
        ("PdproxSVC", "loss", names.MARGIN_LOSSES),
        ("PdproxSVC", "penalty", names.PENALTIES),
        ("PdproxRegressor", "loss", names.RESIDUAL_LOSSES),
        ("MultiTaskPD", "loss", of_outputs.OUTPUT_LOSSES),
        ("MultiTaskPD", "penalty", of_outputs.OUTPUT_PENALTIES),
        ("LogisticPD", "penalty", logistic.NAMES),
        ("MultinomialPD", "loss", multinomial.LOSSES),
        ("OrdinalPD", "loss", ordinal.LOSSES),
        ("MatrixCompletionPD", "loss", matrix_completion.NAMED_LOSSES),
    ],
)
def test_annotations_have_the_names_of_tables(name, parameter, table):
    assert names_in(getattr(skpd, name).__annotations__[parameter]) == table.keys()


class LanguageServer:
    """A client of a language server, which it asks about one file."""

    def __init__(self, command, folder, path):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.uri, self.text, self.n_requests = path.as_uri(), path.read_text("utf-8"), 0
        workspace = [{"uri": folder.as_uri(), "name": "use"}]
        self.diagnostics = None
        self.ask(
            "initialize", capabilities={}, rootUri=folder.as_uri(), workspaceFolders=workspace
        )
        self.send(method="initialized", params={})
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        self.send(method="textDocument/didOpen", params={"textDocument": item})

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self):
        """The next message, after an answer where it is a question of the server."""
        length = 0
        while (line := self.process.stdout.readline()).strip():
            if line.startswith(b"Content-Length: "):
                length = int(line.split()[1])
        message = json.loads(self.process.stdout.read(length))
        if "method" in message and "id" in message:
            self.send(id=message["id"], result=None)
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics = message["params"]["diagnostics"]
        return message

    def ask(self, method, **params):
        self.n_requests += 1
        self.send(id=self.n_requests, method=method, params=params)
        while (message := self.receive()).get("id") != self.n_requests or "method" in message:
            pass
        return message["result"]

    def ask_at(self, method, before, after=""):
        """The answer for the place in the file between two texts."""
        (place,) = {match.start() for match in re.finditer(re.escape(before + after), self.text)}
        lines = self.text[: place + len(before)].split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        return self.ask(method, textDocument={"uri": self.uri}, position=position)

    def hover(self, before, after):
        return self.ask_at("textDocument/hover", before, after)["contents"]["value"]

    def completions(self, before, after=""):
        answer = self.ask_at("textDocument/completion", before, after)
        return {item["label"].strip('"') for item in answer["items"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    command = shutil.which("basedpyright-langserver", path=Path(sys.executable).parent)
    command = command or shutil.which("basedpyright-langserver")
    if command is None:
        pytest.skip("basedpyright is not installed")
    folder = tmp_path_factory.mktemp("use")
    packages = [place for place in sys.path if place.endswith("-packages")]
    options = {
        "typeCheckingMode": "strict", "extraPaths": [str(USE.parents[1]), *packages],
        "reportMissingTypeStubs": "none",  # scikit-learn has none
    }  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    path = folder / USE.name
    path.write_text(USE.read_text("utf-8"), "utf-8")
    client = LanguageServer([command, "--stdio"], folder, path)
    yield client
    client.process.kill()
    client.process.wait()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ordinary_use_runs(capsys):
    runpy.run_path(str(USE))
    assert capsys.readouterr().out


def test_ordinary_use_has_no_error_of_types(server):
    while server.diagnostics is None:
        server.receive()
    found = [(each["range"]["start"]["line"] + 1, each["message"]) for each in server.diagnostics]
    assert found == []


@pytest.mark.parametrize(
    "before, after, shown",
    [
        ("svc = ", "PdproxSVC(alpha", "Weight of the penalty (the papers' lambda)"),
        ("svc.", "fit(X, labels, sample", "Weights of the samples, non-negative"),
        ("decisions = svc.", "decision_function", "scores : ndarray"),
        ("predicted = svc.", "predict", "labels : ndarray of shape (n_samples,)"),
        ("logistic.", "predict_proba", "probabilities : ndarray"),
        ("svc.certificate_.", "gap:.3f", "float"),
        ("residuals = target - lasso.", "predict", "with a column for each of several targets"),
        ("robust = ", "DRSVMClassifier(", "max_iter : int, default=50_000"),
        ("survival = ", "CoxPD", 'ties : {"efron", "breslow"}, default="efron"'),
        ("path = ", "regularization_path", "RegularizationPath"),
    ],
)
def test_hover_shows_complete_docstrings(server, before, after, shown):
    text = html.unescape(server.hover(before, after)).replace("\\", "")
    assert shown in " ".join(text.split())
    assert not re.search(r"\{\w+\}", text.replace("&nbsp;", " "))


@pytest.mark.parametrize(
    "before, after, offered",
    [
        ('PdproxSVC(alpha=0.1, penalty="', "elasticnet", {"l1", "l2", "group", "fused_lasso"}),
        ('l1_ratio=0.5, loss="', "squared_hinge", {"hinge", "logistic"}),
        ('positive=True, solver="', "cd", {"auto", "cd", "approx"}),
        ('CoxPD(alpha=0.1, ties="', "efron", {"efron", "breslow"}),
        ('alphas=5, rule="', "one_standard_error", {"best", "one_standard_error"}),
        ('MetricSVC(alpha=0.1, metric="', "f1", {"f1", "precision_at_k", "roc_auc"}),
        ("print(svc.", "coef_", {"predict", "certificate_", "classes_", "alpha"}),
        ("svc.certificate_.", "gap:.3f", {"gap", "relative_gap", "primal", "dual", "each"}),
        ("print(path_cv.", "alpha_", {"best_estimator_", "best_score_", "predict"}),
        ("path.", "coefs", {"alphas", "certificates", "models", "plot"}),
    ],
)
def test_editors_complete(server, before, after, offered):
    assert offered <= server.completions(before, after)
