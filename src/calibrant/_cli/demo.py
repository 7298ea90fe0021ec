"""`calibrant demo`: the example that comes with Calibrant, from evaluation to recalibration."""

from __future__ import annotations

import argparse
from typing import Any

from calibrant._cli.output import (
    Outcome,
    atomic_write,
    check_folder,
    check_own_files,
    print_line,
    print_lines,
)
from calibrant._cli.parsing import Parser

DESCRIPTION = (
    "Evaluate the example that comes with Calibrant: a student network, its labels and its "
    "teacher's probabilities."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant demo` to its parser."""
    parser.option(
        "-o --out FOLDER",
        "write the example's predictions to files in this folder instead, to try other commands on",
    )


def run(options: argparse.Namespace) -> Outcome:
    """Evaluate the example, or write its files if a folder is given."""
    if options.out is not None:
        return _write_files(options.out)
    description, results = _evaluate_example()
    return Outcome(
        lambda: {name: result.to_dict() for name, result in results.items()},
        lambda: _show(description, *results.values()),
    )


def _show(description: str, hard: Any, soft: Any, tools: Any, compared: Any) -> None:
    """Print the example and its results.

    `hard` is its evaluation against labels, `soft` that against the teacher's probabilities,
    `tools` the ECE of other tools, and `compared` the model before and after temperature scaling.
    """
    from calibrant._cli.tables import print_evaluation, print_table

    print_lines(description, ())
    print_evaluation(hard, "The student, evaluated with hard labels")
    columns: dict[str, list[Any]] = {
        "measure": [e.name for e in soft.estimates if e.name in hard],
        "against labels": [hard[e.name] for e in soft.estimates if e.name in hard],
        "against teacher": [e.value for e in soft.estimates if e.name in hard],
    }
    print_table(columns, "Hard labels and the teacher's soft labels side by side")
    print_table(compared.columns(), "Before and after temperature scaling, fitted to other rows")
    print_table(compared.ranked("ece"), "The difference in ECE, with its interval")
    shown = {k: v for k, v in tools._short_columns().items() if k != "answer"}
    print_table(shown, "What other tools report as ECE (top label)")


def _evaluate_example() -> tuple[str, dict[str, Any]]:
    """Evaluate the example; return its description and the results by name.

    The names are hard, soft, conventions and comparison (see `_show`).
    """
    from calibrant import examples
    from calibrant._api.compare import compare
    from calibrant._api.conventions import conventions
    from calibrant._api.evaluate import evaluate
    from calibrant._api.evaluate_samples import Options, evaluate_samples
    from calibrant._data.to_samples import to_samples
    from calibrant.scaling import TemperatureScaling

    example = examples.load("fashion")
    rows = to_samples(example.test_labels, example.test_proba, classes=example.class_names)
    hard = evaluate_samples(rows, Options(intervals="cheap"))
    soft = evaluate(example.test_soft_labels, example.test_proba, classes=example.class_names)
    tools = conventions(example.test_labels, example.test_proba)
    scaler = TemperatureScaling().fit(example.val_labels, example.val_logits)
    models = {
        "as trained": example.test_proba,
        f"scaled by T = {scaler.temperature_:.2f}": scaler.transform(example.test_logits),
    }
    compared = compare(example.test_labels, models)
    results = {"hard": hard, "soft": soft, "conventions": tools, "comparison": compared}
    return example.description, results


def _write_files(folder: str) -> Outcome:
    """Write the example's predictions to validation.csv, test.csv and shirt.csv in a folder.

    The first two have ten classes, the third one class against the rest.
    """
    import os
    import shlex

    check_folder(folder)
    contents = _file_contents()
    check_own_files(folder, contents, lambda name, content: content == contents[name].encode())
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, name) for name in contents}
    for name, path in paths.items():
        with atomic_write(path) as temp:
            temp.write_text(contents[name], encoding="utf-8", newline="\n")

    def show() -> None:
        """Print the names of the files, and commands to try on them."""
        validation, test, shirt = (shlex.quote(path) for path in paths.values())
        print_lines(f"Written: {', '.join(paths.values())}. Try:", ())
        for line in (
            f"calibrant report {test} -o page.html",
            f"calibrant check {shirt} --max ece=0.05",
            f"calibrant scale --fit {validation} --apply {test} -o recalibrated.csv",
            f"calibrant conventions {test}",
        ):
            print_line(f"    {line}")

    return Outcome(lambda: {"written": list(paths.values())}, show)


def _file_contents() -> dict[str, str]:
    """Give the content of each file of the example, as text, by the file's name.

    It never changes, so that an old file with the same content may be replaced.
    """
    from calibrant import examples

    fashion, shirt = examples.load("fashion"), examples.load("fashion-shirt")
    titles = [f"proba_{name}" for name in fashion.class_names]
    named = fashion.class_names
    files = {
        "validation.csv": (titles, [named[y] for y in fashion.val_labels], fashion.val_proba),
        "test.csv": (titles, [named[y] for y in fashion.test_labels], fashion.test_proba),
        "shirt.csv": (["p"], shirt.test_labels.tolist(), shirt.test_proba[:, None]),
    }
    out = {}
    for name, (columns, labels, predictions) in files.items():
        lines = [",".join(["label", *columns])]
        for label, row in zip(labels, predictions.tolist(), strict=True):
            # All digits are written, so that intervals are those of the example itself.
            lines.append(",".join([str(label), *map(repr, row)]))
        out[name] = "\n".join(lines) + "\n"
    return out
