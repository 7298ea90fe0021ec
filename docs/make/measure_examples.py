"""Examples of a measure: sessions on the data that come with the library, run to see the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calibrant._measures.catalogue import Measure


def examples_of(entries: list[Measure]) -> Iterator[str]:
    """A session for each shape of predictions."""
    for entry in entries:
        for shape in entry.shapes:
            yield _session(entry, shape)


def _session(measure: Measure, shape: str) -> str:
    name = "fashion" if shape == "multiclass" else "fashion-shirt"
    labels = "test_soft_labels" if measure.soft_only else "test_labels"
    given = [
        "import calibrant as cal",
        "from calibrant import examples",
        f'example = examples.load("{name}")',
        f"y, p = example.{labels}, example.test_proba",
    ]
    asked = f"round({_call(measure)}, 6)"
    found = f'found = cal.evaluate(y, p, measures=["{measure.name}"])'
    again = f'round(found["{measure.name}"], 6)'
    scope: dict[str, Any] = {}
    exec("\n".join([*given, found]), scope)
    answers = [f"{line}\n{eval(line, scope)!r}" for line in (asked, again)]
    lines = [*given, answers[0], found, answers[1]]
    return "```python\n" + "\n".join(f">>> {line}" for line in lines) + "\n\n```"


def _call(measure: Measure) -> str:
    """The measure alone, of `y` and `p`."""
    name, _, options = measure.function.partition("(")
    options = options.removesuffix(")")
    attribute = f".{measure.attribute}" if measure.attribute else ""
    return f"cal.{name}(y, p{', ' if options else ''}{options}){attribute}"
