"""One measure's page: a picture, its formula, when to use it, what it promises, examples."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant._measures.catalogue import Measure
from formulas import first_formula, without_formulas
from measure_examples import examples_of
from tables import table
from verdicts import NOT_AUDITED, PROPERTIES, WORDS, Verdicts, found

# What the signs in formulas of the catalogue mean; each is explained where it occurs.
SYMBOLS = {
    "w": "the weight of a row, 1 unless given",
    "W": "the sum of weights",
    "B": "a bin",
    "R_B": "the sum of w (u - z) over the rows of a bin",
    "R_{B,r}": "the sum of w (u - z) over the rows of a bin, for class r against the rest",
    "W_B": "the weight in a bin",
    "n_B": "the effective number of rows in a bin",
    "r": "a class",
    "k": "the number of classes",
    "u": "the prediction: the probability of class 1, or of the top label",
    "z": "the target: 0 or 1, or a probability",
    "t": "a point on the axis of predictions (or of their logits)",
    "h": "the logit of the prediction",
    "c": "the confidence: the largest predicted probability",
    "p": "the predicted probabilities of a row",
    "q": "the target probabilities of a row",
    "K": "a kernel of width sigma",
    "H": "the entropy, in nats",
}
_OF_ROWS = {
    "confidence by class": "the top label, given the class that it is",
    "classwise": "every class against the rest, averaged",
    "full": "all classes at once, as a vector",
    "loss": "the whole row",
    "distribution": "the whole row",
}
_MORE = """\
See also [which measure to use](../concepts/which-measure.md),
[uncertainty](../concepts/uncertainty.md), [how the audit works](../research/audit.md) and the
[glossary](../reference/glossary.md#notion)."""
# What the page says in a table: the range, and what the catalogue claims.
_ELSEWHERE = re.compile(
    r"\s*(?:Range\s+\[[^\]]*\](?:[^.]|\.\d)*\.(?: Lower is better\.)?|Not truthful[^.]*\.)"
)
# The sections on a measure that its text has, in their order.
ADVICE = {
    "use": "When to use it",
    "avoid": "When not to use it",
    "cheat": "How it can be cheated",
}


@cache
def texts() -> dict[str, dict[str, str]]:
    """What is to be said of each measure beside the catalogue."""
    path = Path(__file__).with_name("measure_texts.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def function_of(measure: Measure) -> Any:
    return getattr(cal, measure.function.partition("(")[0])


def page_of(entries: list[Measure], known: Verdicts) -> str:
    """The page of a name: an entry of the catalogue, or one for each shape of predictions."""
    first = entries[0]
    parts = [
        f"# `{first.name}`: {first.title}",
        _docstring(first).partition("\n\n")[0].replace("\n", " ").replace("``", "`"),
        *_picture(first),
        "## Formula",
        *_formula(entries),
        *_advice(first),
        "## At a glance",
        _facts(entries),
        "## What it promises",
        *_promises(entries, known),
        "## Example",
        *examples_of(entries),
        _MORE,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _picture(measure: Measure) -> Iterator[str]:
    """The picture of a measure, and what it shows."""
    told = texts().get(measure.name, {}).get("picture")
    if told is not None:
        yield f'![A picture of {measure.title}]({measure.name}.svg){{ width="460" }}'
        yield f"*{told}*"


def _advice(measure: Measure) -> Iterator[str]:
    known = texts().get(measure.name, {})
    for key, heading in ADVICE.items():
        if key in known:
            yield f"## {heading}"
            yield known[key]


def _facts(entries: list[Measure]) -> str:
    first = entries[0]
    anchor = f"calibrant.{first.function.partition('(')[0]}"
    by_name = f"[`cal.{first.name}`][calibrant.{first.name}]"
    rows = {
        "measures": "; ".join(_measured(e, shape) for e in entries for shape in e.shapes),
        "alone": ", that is ".join(dict.fromkeys([by_name, f"[`cal.{first.function}`][{anchor}]"])),
        "with others": f'`cal.evaluate(y_true, y_proba, measures=["{first.name}"])`',
        "range": _by_shape(entries, [_range(entry) for entry in entries]),
        "[vote noise](../research/votes.md)": _by_shape(entries, [e.vote_noise for e in entries]),
        "reference": _by_shape(entries, [entry.reference for entry in entries]),
    }
    return table(["", ""], rows.items())


def _by_shape(entries: list[Measure], texts: list[str]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    return "; ".join(f"{e.shapes[0]}: {text}" for e, text in zip(entries, texts, strict=True))


def _range(measure: Measure) -> str:
    return f"{measure.range}, {'higher' if measure.higher_is_better else 'lower'} is better"


def _measured(measure: Measure, shape: str) -> str:
    if shape == "multiclass":
        return f"of predictions (n, k), {_OF_ROWS.get(measure.notion, 'the top label')}"
    top = measure.notion == "confidence"
    return f"of predictions (n,), {'the larger of u and 1 - u' if top else 'class 1'}"


def _docstring(measure: Measure) -> str:
    """That of the function which has the measure's name, or else of the one that computes it."""
    return str(inspect.getdoc(getattr(cal, measure.name, function_of(measure))))


def _formula(entries: list[Measure]) -> Iterator[str]:
    """The formula of the docstring; the catalogue's where it has none, or another measure's."""
    found = [_docstring(entries[0])]
    if "(" not in entries[0].function:  # else it is another measure, with an option
        found.append(str(inspect.getdoc(function_of(entries[0]))))
    for docstring in found:
        tex = first_formula(docstring)
        if tex is not None:
            yield f"```math\n{tex}\n```"
            yield _explanation(docstring)
            return
    formulas = list(dict.fromkeys(entry.formula for entry in entries))
    yield "\n\n".join(f"```text\n{formula}\n```" for formula in formulas)
    yield _legend(" ".join(formulas))


def _explanation(docstring: str) -> str:
    """What the docstring says between its formula and its first section, without the range."""
    text = without_formulas(docstring).partition("\n\n")[2]
    told = re.split(r"\n\w+\n-+\n", text)[0]
    return _ELSEWHERE.sub("", told).strip().replace("``", "`")


def _legend(formula: str) -> str:
    signs = [
        f"`{sign}` is {meaning}"
        for sign, meaning in SYMBOLS.items()
        if re.search(rf"(?<![\w{{]){re.escape(sign)}(?![\w])", formula)
    ]
    return f"where {'; '.join(signs)}." if signs else ""


def _promises(entries: list[Measure], known: Verdicts) -> Iterator[str]:
    rows = [
        [name, shape, WORDS[getattr(entry.claims, name)], found(entry, shape, name, known),
         known.get((entry.name, shape, name), NOT_AUDITED)["sentence"]]
        for name in PROPERTIES for entry in entries for shape in entry.shapes
        if getattr(entry.claims, name) is not None
    ]  # fmt: skip
    if not rows:
        yield "The catalogue claims nothing: by itself it does not measure calibration."
        return
    yield table(["property", "predictions", "claimed", "found", "what shows it"], rows)
    for entry in entries:
        for shape in entry.shapes:
            row = known.get((entry.name, shape, "bin_sensitivity"))
            if row is not None:
                yield f"With other numbers of bins, {shape} predictions: {row['sentence']}."
    yield f"`calibrant audit {entries[0].name}` repeats these tests."
