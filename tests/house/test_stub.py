"""The stub that editors and type checkers read, and signatures and docstrings that it shows."""

from __future__ import annotations

import ast
import inspect
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant as cal
from calibrant import plots, results, scaling
from calibrant._core.arguments import whole_docstring
from needs import need

GENERATOR = Path(__file__).parents[2] / ".ci" / "stub.py"
STUB = Path(cal.__file__).with_suffix(".pyi")


def test_the_stub_is_what_the_code_says():
    need("ruff")
    if not GENERATOR.exists():
        pytest.skip("the generator is not part of the source package")
    written = runpy.run_path(str(GENERATOR))["stub"]()
    assert STUB.read_text(encoding="utf-8") == written, "run python .ci/stub.py"


def test_the_stub_of_the_maps_is_what_the_code_says():
    need("ruff")
    need("sklearn")
    if not GENERATOR.exists():
        pytest.skip("the generator is not part of the source package")
    written = runpy.run_path(str(GENERATOR))["scaling_stub"]()
    path = Path(scaling.__file__).with_suffix(".pyi")
    assert path.read_text(encoding="utf-8") == written, "run python .ci/stub.py"


@pytest.mark.parametrize("package", [results, plots], ids=lambda package: package.__name__)
def test_the_stubs_of_names_are_what_the_code_says(package):
    need("ruff")
    need("sklearn")
    if not GENERATOR.exists():
        pytest.skip("the generator is not part of the source package")
    written = runpy.run_path(str(GENERATOR))["stub_of_names"](package)
    path = Path(package.__file__).with_suffix(".pyi")
    assert path.read_text(encoding="utf-8") == written, "run python .ci/stub.py"


def test_the_stub_names_what_is_public():
    body = ast.parse(STUB.read_text(encoding="utf-8")).body
    (names,) = (node.value for node in body if isinstance(node, ast.Assign))
    assert ast.literal_eval(names) == cal.__all__ == sorted(cal.__all__)
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    imported = {
        alias.asname or alias.name: node.module
        for node in body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*defined, *imported} >= {*cal.__all__, *cal._SUBMODULES}
    for name, module in cal._MODULE_OF.items():
        if name in defined:
            assert ast.get_docstring(defined[name]) == inspect.getdoc(getattr(cal, name))
        else:
            own = f".{results._WHERE[name]}" if module == results.__name__ else ""
            assert imported[name] == module + own


def test_public_names_are_all_that_dir_lists():
    listed = subprocess.run(
        [sys.executable, "-c", "import calibrant as cal; cal.ece; print(*dir(cal))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout.split() == sorted([*cal.__all__, *cal._SUBMODULES])


def test_functions_work_without_docstrings():
    program = "import calibrant as cal; print(cal.ece([0, 1], [0.25, 0.75]), cal.ece.__doc__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0.25", "None"]


def test_signatures_name_every_keyword_of_the_rows():
    signature = inspect.signature(cal.brier_score)
    assert str(signature.replace(return_annotation=signature.empty)).replace("'", "") == (
        "(y_true: ArrayLike, y_proba: ArrayLike, *, sample_weight: ArrayLike | None = None, "
        "votes: ArrayLike | int | None = None, from_logits: bool = False, "
        "from_logprobs: bool = False, classes: Sequence[Any] | None = None, data: Any = None)"
    )
    for name in cal.__all__:
        function = getattr(cal, name)
        if inspect.isfunction(function):
            kinds = {each.kind for each in inspect.signature(function).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name


def _measured(y_true, y_proba, *, bins=15, seed=0, tie="low", classes=None):
    """Measure something.

    Parameters
    ----------
    bins (quantile)
    seed
    tie : {"low", "high"}, default "low"
        Which one wins a tie.

    Examples
    --------
    >>> 1 + 1
    2
    """


class TestCompletedDocstrings:
    text = whole_docstring(str(_measured.__doc__), inspect.signature(_measured).parameters)

    def test_arguments_stand_in_the_order_of_the_signature_with_their_defaults(self):
        heads = [line for line in self.text.splitlines() if " : " in line and line[0] != " "]
        assert [head.partition(" : ")[0] for head in heads] == [
            *inspect.signature(_measured).parameters
        ]
        assert heads[2].endswith(", default 15") and heads[-1] == "classes : sequence, optional"

    def test_what_the_function_says_itself_stays(self):
        assert 'tie : {"low", "high"}, default "low"\n    Which one wins a tie.' in self.text
        assert self.text.startswith("Measure something.\n\nParameters\n----------\ny_true : ")

    def test_an_argument_of_several_meanings_has_the_one_named(self):
        assert "    Number of quantile bins, edges, or a rule" in self.text
        assert "bins (quantile)" not in self.text

    def test_errors_of_the_input_come_before_the_examples(self):
        raised, examples = self.text.index("Raises\n------"), self.text.index("Examples\n--------")
        assert self.text.index("classes : ") < raised < examples

    def test_own_reasons_of_an_error_come_after_those_of_the_input(self):
        own = "\n\nRaises\n------\nInputError\n    Also if a\n    is b.\nNotDefined\n    If c.\n"
        parameters = inspect.signature(_measured).parameters
        text = whole_docstring(f"{_measured.__doc__}{own}", parameters)
        raised = " ".join(text.partition("InputError\n")[2].split())
        assert raised.startswith("If the input cannot be read as labels and probabilities; the ")
        assert raised.endswith(" first bad row. Also if a is b. NotDefined If c.")
        assert whole_docstring(text, parameters) == text

    def test_a_whole_docstring_stays_as_it_is(self):
        assert whole_docstring(self.text, inspect.signature(_measured).parameters) == self.text

    def test_a_name_that_is_not_described_anywhere_is_an_error(self):
        with pytest.raises(KeyError, match="tie"):
            whole_docstring(
                "Do.\n\nParameters\n----------\ntie\n", inspect.signature(_measured).parameters
            )
