"""The house rules that a reader would otherwise have to watch over."""

from __future__ import annotations

import inspect
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption, examples

SOURCE = Path(cal.__file__).parent


def test_no_module_imports_itself_through_others():
    """The contract of rooms looks at siblings; a package and its module may make a circle too."""
    graph = grimp.build_graph("calibrant")
    modules = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(modules).prepare()  # raises CycleError, which names the modules


def test_importing_costs_no_heavy_package():
    program = (
        "import sys, calibrant\n"
        "heavy = ('scipy', 'pandas', 'polars', 'pyarrow', 'torch', 'sklearn', 'rich', 'narwhals',"
        " 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_root_costs_next_to_nothing():
    """Not even NumPy: the command line must answer Ctrl-C before anything slow is imported."""
    program = "import sys, calibrant._cli; print([m for m in ('numpy',) if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_public_modules_are_there_without_an_import_of_their_own():
    program = (
        "import calibrant as cal\n"
        "print(cal.examples.names() and cal.scaling.load and cal.plots and cal.results and 'yes')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "yes", done.stderr
    assert set(cal.__all__) <= set(dir(cal))


def test_every_public_name_is_documented_and_there():
    for name in cal.__all__:
        thing = getattr(cal, name)
        if callable(thing):
            assert inspect.getdoc(thing), name


# Functions that are not of labels and predictions.
OF_OTHER_THINGS = {
    "annotators", "audit", "bayes_error", "catalogue", "count_votes", "entropy_bands",
    "evaluate_file", "optimism",
    "judge", "match_boxes", "rank_robustness", "read_coco", "read_confidences", "read_file",
    "reproduce", "sampled_answers",
}  # fmt: skip


def test_options_are_keywords_and_typing_mistakes_are_caught():
    functions = {n: getattr(cal, n) for n in cal.__all__ if inspect.isfunction(getattr(cal, n))}
    for name in sorted(functions.keys() - OF_OTHER_THINGS):
        parameters = list(inspect.signature(functions[name]).parameters.values())
        assert [p.name for p in parameters[:2]] == ["y_true", "y_proba"], name
        # What a function is about may come third.
        subject = 3 if name == "find_segments" else 2
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters[subject:]), name
        try:
            said = functions[name]([0, 1], [0.2, 0.7], *[{}] * (subject - 2), from_logit=True)
        except UnknownOption as error:
            said = error
        assert "did you mean 'from_logits'" in str(said), name


def test_catalogue_entries_are_complete():
    kept = type(cal.Accumulator().update([0, 1], [0.2, 0.7]).summary())
    for measure in cal.catalogue():
        entry = f"{measure.name}, {measure.shapes[0]}"
        assert measure.formula and measure.title and measure.reference, entry
        assert hasattr(kept, measure.statistic), entry
        assert measure.function.partition("(")[0] in cal.__all__, entry


class TestExample:
    @pytest.mark.parametrize("name", examples.names())
    def test_splits_fit_together(self, name):
        example = examples.load(name)
        for split, rows in (("val", 2000), ("test", 4000)):
            logits = getattr(example, f"{split}_logits")
            labels = getattr(example, f"{split}_labels")
            soft = getattr(example, f"{split}_soft_labels")
            proba = getattr(example, f"{split}_proba")
            assert len(logits) == len(labels) == len(soft) == len(proba) == rows
            assert soft.shape == proba.shape == logits.shape
            assert labels.min() == 0 and labels.max() == len(example.class_names) - 1
            assert not any(a.flags.writeable for a in (logits, labels, soft, proba))
            if proba.ndim == 2:
                np.testing.assert_allclose(soft.sum(axis=1), 1, atol=1e-12)

    def test_the_binary_view_is_a_column_of_the_other(self):
        rows, column = examples.load("fashion"), examples.load("fashion-shirt")
        shirt = rows.class_names.index("Shirt")
        np.testing.assert_allclose(column.test_proba, rows.test_proba[:, shirt], atol=1e-12)
        np.testing.assert_array_equal(column.test_labels, rows.test_labels == shirt)

    def test_an_unknown_example_is_named(self):
        with pytest.raises(InputError, match="did you mean 'fashion'"):
            examples.load("fasion")

    def test_it_is_small(self):
        assert (SOURCE / "examples" / "fashion.npz").stat().st_size <= 300_000
