"""The measures' pages, one a name of the catalogue: formula, claims and verdicts, example."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant import examples
from calibrant.measures.catalogue import Measure
from formulas import first_formula, without_formulas

AUDIT = Path(__file__).parents[1] / "measures" / "audit.csv"
PROPERTIES = ("truthful", "continuous", "complete", "sound")
# What a formula of the catalogue speaks of. Each is told where it occurs.
SYMBOLS = {
    "w": "the weight of a row, 1 unless given",
    "W": "the sum of weights",
    "B": "a bin",
    "R_B": "the sum of w (u - z) over the rows of a bin",
    "R_{B,r}": "the sum of w (u - z) over the rows of a bin, for class r against the rest",
    "W_B": "the weight in a bin",
    "r": "a class",
    "k": "the number of classes",
    "u": "the report: the probability of class 1, or of the top label",
    "z": "the target: 0 or 1, or a probability",
    "t": "a place on the axis of reports (or of their logits)",
    "h": "the logit of the report",
    "c": "the largest reported probability",
    "p": "the reported probabilities of a row",
    "q": "the target probabilities of a row",
    "K": "a kernel of width sigma",
    "H": "the entropy, in nats",
}
GROUPS = {
    "binned": "Over bins",
    "smooth": "Smooth",
    "truthful": "Truthful",
    "losses": "Losses",
    "distribution": "Whole distributions",
}
_NOTIONS = {
    "classwise": "every class against the rest, averaged",
    "confidence": "the top label",
    "full": "all classes at once, as a vector",
    "loss": "the reports as they are",
    "distribution": "the reports as they are",
}
_WORDS = {True: "yes", False: "no", None: "-"}


def pages() -> dict[str, str]:
    """Every page: its path, and its text."""
    verdicts = _verdicts()
    by_name: dict[str, list[Measure]] = {}
    for measure in cal.catalogue():
        by_name.setdefault(measure.name, []).append(measure)
    found = {f"measures/{name}.md": _page(entries, verdicts) for name, entries in by_name.items()}
    return {"measures/index.md": _index(by_name, verdicts), **found}


def groups() -> dict[str, list[str]]:
    """The names of the measures under the headings of the navigation."""
    found: dict[str, list[str]] = {title: [] for title in GROUPS.values()}
    for measure in cal.catalogue():
        names = found[_group(measure)]
        if measure.name not in names:
            names.append(measure.name)
    return found


def _group(measure: Measure) -> str:
    return GROUPS[_function(measure).__module__.rpartition(".")[2]]


def _function(measure: Measure) -> Any:
    return getattr(cal, measure.function.partition("(")[0])


def _verdicts() -> dict[tuple[str, str, str], dict[str, str]]:
    with AUDIT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["measure"], row["shape"], row["property"]): row for row in rows}


# --- one page -------------------------------------------------------------------------------------


def _page(entries: list[Measure], verdicts: dict[Any, Any]) -> str:
    first = entries[0]
    parts = [
        f"# `{first.name}`: {first.title}",
        _first_sentence(_function(first)),
        *(_facts(entry) for entry in entries),
        "## Formula",
        *_formula(entries),
        "## What it promises",
        _promises(entries, verdicts),
        "## Example",
        *_examples(entries),
        "More: [which measure to use](../which-measure.md), [what a number is "
        "worth](../uncertainty.md), [how the audit works](../audit.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _first_sentence(function: Any) -> str:
    return str(inspect.getdoc(function)).partition("\n\n")[0].replace("\n", " ")


def _facts(measure: Measure) -> str:
    function = _function(measure)
    link = f"[`cal.{measure.function}`][{function.__module__}.{function.__qualname__}]"
    better = "higher" if measure.higher_is_better else "lower"
    rows = {
        "measured": "; ".join(_measured(measure, shape) for shape in measure.shapes),
        "alone": link,
        "with others": f'`cal.evaluate(y_true, y_proba, measures=["{measure.name}"])`',
        "range": f"{measure.range}, {better} is better",
        "reference": measure.reference,
    }
    return _table(["", ""], [[name, text] for name, text in rows.items()])


def _measured(measure: Measure, shape: str) -> str:
    if shape == "binary":
        return "reports (n,): the larger of u and 1 - u" if measure.notion == "confidence" else (
            "reports (n,), the probability of class 1"
        )
    return f"reports (n, k): {_NOTIONS.get(measure.notion, 'the top label')}"


def _formula(entries: list[Measure]) -> Iterator[str]:
    for formula in dict.fromkeys(entry.formula for entry in entries):
        yield f"```text\n{formula}\n```"
        yield _legend(formula)
    first = entries[0]
    if "(" in first.function or first.function != first.name:
        return
    docstring = str(inspect.getdoc(_function(first)))
    tex = first_formula(docstring)
    if tex is not None:
        yield f"```math\n{tex}\n```"
        yield _explanation(docstring)


def _legend(formula: str) -> str:
    told = [
        f"`{sign}` {meaning}" for sign, meaning in SYMBOLS.items()
        if re.search(rf"(?<![\w{{]){re.escape(sign)}(?![\w])", formula)
    ]  # fmt: skip
    return f"where {'; '.join(told)}." if told else ""


def _explanation(docstring: str) -> str:
    """What the docstring says between its formula and its first section."""
    text = without_formulas(docstring).partition("\n\n")[2]
    return re.split(r"\n\w+\n-+\n", text)[0].strip()


def _promises(entries: list[Measure], verdicts: dict[Any, Any]) -> str:
    rows = []
    for prop in PROPERTIES:
        for entry in entries:
            claim = getattr(entry.claims, prop)
            for shape in entry.shapes:
                row = verdicts.get((entry.name, shape, prop))
                if claim is not None and row is not None:
                    rows.append([prop, shape, _WORDS[claim], row["holds"], row["sentence"]])
    if not rows:
        return "Nothing: it is one part of a sum, and says nothing of calibration by itself."
    head = ["property", "reports", "claimed", "found", "what shows it"]
    said = [_table(head, rows), *_sensitivity(entries, verdicts)]
    said.append(f"`calibrant audit {entries[0].name}` tries all this again.")
    return "\n\n".join(said)


def _sensitivity(entries: list[Measure], verdicts: dict[Any, Any]) -> Iterator[str]:
    for entry in entries:
        for shape in entry.shapes:
            row = verdicts.get((entry.name, shape, "bin_sensitivity"))
            if row is not None:
                yield f"Other numbers of bins, {shape} reports: {row['sentence']}."


# --- examples -------------------------------------------------------------------------------------


def _examples(entries: list[Measure]) -> Iterator[str]:
    for entry in entries:
        for shape in entry.shapes:
            yield _example(entry, shape)


def _example(measure: Measure, shape: str) -> str:
    """Lines that run, with what they print: they are run here."""
    name = "fashion" if shape == "multiclass" else "fashion-shirt"
    labels = "test_soft_labels" if measure.soft_only else "test_labels"
    lines = [
        "import calibrant as cal",
        "from calibrant import examples",
        f'example = examples.load("{name}")',
        f"y, p = example.{labels}, example.test_proba",
    ]
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    shown = [
        f"round({call(measure)}, 6)",
        f'round(cal.evaluate(y, p, measures=["{measure.name}"])["{measure.name}"], 6)',
    ]
    told = [f"{line}\n{eval(line, scope)!r}" for line in shown]
    return "```python\n" + "\n".join(f">>> {line}" for line in [*lines, *told]) + "\n\n```"


def call(measure: Measure) -> str:
    """The measure alone, of `y` and `p`."""
    name, _, options = measure.function.partition("(")
    options = options.removesuffix(")")
    part = "." + measure.name.removeprefix("brier_") if name == "brier_decomposition" else ""
    return f"cal.{name}(y, p{', ' if options else ''}{options}){part}"


# --- the table of all -----------------------------------------------------------------------------


def _index(by_name: dict[str, list[Measure]], verdicts: dict[Any, Any]) -> str:
    head = ["measure", "", "reports", "range", *PROPERTIES]
    parts = [
        "# The measures",
        "Every measure of the catalogue (`cal.catalogue()`), with what it promises. "
        "[Which one to use](../which-measure.md) is another page. A yes or no is what "
        "[the audit](../audit.md) found, and what the catalogue claims; where the two differed, "
        "a `!` would stand beside it.",
        "A predictor that lies has something to gain under a measure that is not *truthful*. A "
        "measure that is not *continuous* may jump when a report moves by a hair. *Complete* ones "
        "tend to 0 for calibrated predictors, and *sound* ones stay above that for all others.",
    ]
    for title, names in groups().items():
        rows = [
            _row(entry, shape, verdicts)
            for name in names for entry in by_name[name] for shape in entry.shapes
        ]  # fmt: skip
        parts += [f"## {title}", _table(head, rows)]
    parts.append(
        "All of these take soft labels and weights. What the audit did is in "
        f"[audit.csv](audit.csv), which `calibrant audit -o FOLDER` writes; all {len(examples.names())} "
        "examples of the pages come with the library."
    )
    return "\n\n".join(parts) + "\n"


def _row(entry: Measure, shape: str, verdicts: dict[Any, Any]) -> list[str]:
    cells = []
    for prop in PROPERTIES:
        row = verdicts.get((entry.name, shape, prop))
        claim = getattr(entry.claims, prop)
        found = "-" if row is None or claim is None else row["holds"]
        cells.append(found if found == _WORDS[claim] else f"{found} !")
    return [f"[`{entry.name}`]({entry.name}.md)", entry.title, shape, entry.range, *cells]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|") for c in l) + " |" for l in lines)


_ = examples
