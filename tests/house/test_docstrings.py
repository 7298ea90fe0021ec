"""Every public function, class and method is documented in numpydoc form, in full.

A section that is there but says nothing is not enough: each parameter of the signature has a type,
the default that it really has and some words, nothing is described that does not exist, and what is
returned has a type and words. The examples themselves are run as doctests.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import calibrant as cal
from calibrant import examples, plots, results, scaling
from needs import need

# In the order that numpydoc has them.
SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
OF_ENTRIES = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
FEWEST_WORDS = {"Parameters": 3}  # elsewhere 2: the name and the type say much
LONGEST_SUMMARY = 100

# Documented next: a name that is found to be in order must leave this list.
UNWRITTEN: frozenset[str] = frozenset()


@dataclass
class Entry:
    """One entry of a section: what stands before the colon, behind it, and below."""

    name: str
    type: str
    words: str


@dataclass
class Docstring:
    """A docstring in its parts."""

    summary: str
    sections: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def entries(self, title: str) -> list[Entry]:
        """The entries of a section, one for each name."""
        out = []
        for block in re.split(r"\n(?=\S)", self.sections.get(title, "").strip("\n")):
            head, _, below = block.partition("\n")
            names, colon, kind = head.partition(" : ")
            words = " ".join(below.split())
            if title in ("Returns", "Yields") and not colon:
                names, kind = "", head
            out += [Entry(name.strip(), kind.strip(), words) for name in names.split(", ")]
        return [entry for entry in out if entry.name or entry.type or entry.words]


def parsed(text: str) -> Docstring:
    """The parts of a docstring: the first paragraph, and each underlined title."""
    pieces = re.split(r"^([^\n]+)\n(-{3,})\n", text, flags=re.MULTILINE)
    found = Docstring(pieces[0].partition("\n\n")[0].strip())
    for title, content in zip(pieces[1::3], pieces[3::3], strict=True):
        found.sections[title.strip()] = content
        if title.strip() not in SECTIONS:
            found.unknown.append(title.strip())
    return found


# --- what is public ---------------------------------------------------------------------------


def _public() -> dict[str, Any]:
    """Functions and classes by the name that users write; each once."""
    out: dict[str, Any] = {}
    for module in (cal, scaling, plots, results, examples):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if _is_documented(thing) and all(thing is not known for known in out.values()):
                out[f"{module.__name__}.{name}"] = thing
    return out


def _is_documented(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(thing)


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are ours, inherited ones too."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("calibrant")]
    names = dict.fromkeys(name for base in ours for name in vars(base) if name[0] != "_")
    for name in names:
        members = [vars(base)[name] for base in ours if name in vars(base)]
        # One that says nothing of its own has the docstring that it inherits, as `help` shows it.
        member = next((each for each in members if each.__doc__), members[0])
        if _is_method(member):
            yield name, member


def _is_method(member: Any) -> bool:
    kinds = (types.FunctionType, classmethod, staticmethod, property)
    return isinstance(member, kinds) or type(member).__name__ == "cached_property"


# --- the rule ---------------------------------------------------------------------------------


def problems(thing: Any) -> list[str]:
    """What is missing or wrong in the docstring of a function or class, and of its methods."""
    if not inspect.isclass(thing):
        return [*_of_text(thing), *_of_function(thing), *_of_examples(thing)]
    found = [*_of_text(thing), *_of_class(thing)]
    # What users are given is shown by the functions that return it.
    if not thing.__module__.startswith("calibrant.results"):
        found += _of_examples(thing)
    for name, member in _methods(thing):
        found += [f"{name}: {problem}" for problem in _of_method(member)]
    return found


def _of_method(member: Any) -> list[str]:
    if isinstance(member, property) or type(member).__name__ == "cached_property":
        getter = member.fget if isinstance(member, property) else member.func
        return list(_of_text(getter))
    function = getattr(member, "__func__", member)
    return [*_of_text(function), *_of_function(function)]


def _of_text(thing: Any) -> Iterator[str]:
    text = thing.__doc__
    if not text or not text.strip():
        yield "has no docstring"
        return
    doc = parsed(inspect.cleandoc(text))
    if "\n" in doc.summary or not 9 <= len(doc.summary) <= LONGEST_SUMMARY:
        yield f"the summary must be one line: {doc.summary!r}"
    if not doc.summary.endswith((".", "?")):
        yield f"the summary must end with a full stop: {doc.summary!r}"
    for title in doc.unknown:
        yield f"{title!r} is not a section of numpydoc"
    titles = [title for title in doc.sections if title in SECTIONS]
    if titles != sorted(titles, key=SECTIONS.index):
        yield f"the sections must stand in the order of numpydoc: {titles}"
    for title in titles:
        if not doc.sections[title].strip():
            yield f"the section {title} is empty"
    for title in set(titles) & set(OF_ENTRIES):
        for entry in doc.entries(title):
            if len(entry.words.split()) < FEWEST_WORDS.get(title, 2):
                yield f"{title}: {entry.name or entry.type!r} needs words"
    if "calibrant._" in text:
        yield "names an internal path"


def _of_function(function: Callable[..., Any]) -> Iterator[str]:
    doc = parsed(inspect.cleandoc(function.__doc__ or ""))
    signature = inspect.signature(function)
    yield from _of_parameters(_parameters(signature), doc.entries("Parameters"), ())
    if signature.return_annotation in (None, "None", "NoReturn"):
        return
    given = doc.entries("Returns") or doc.entries("Yields")
    if not given:
        yield "has no section Returns"
    for entry in given:
        if not entry.type:
            yield "Returns has no type"


def _of_class(cls: type) -> Iterator[str]:
    doc = parsed(inspect.cleandoc(cls.__doc__ or ""))
    constructor = cls.__init__  # type: ignore[misc]
    ours = str(getattr(constructor, "__module__", "")).startswith("calibrant")
    wanted = (
        _parameters(inspect.signature(cls)) if ours or "__dataclass_fields__" in vars(cls) else []
    )
    yield from _of_parameters(wanted, doc.entries("Parameters"), doc.entries("Attributes"))
    for entry in doc.entries("Attributes"):
        if not entry.type:
            yield f"{entry.name} needs a type"


def _parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [p for p in signature.parameters.values() if p.name not in ("self", "cls")]


def _of_parameters(
    wanted: list[inspect.Parameter], given: list[Entry], attributes: list[Entry] | tuple[()]
) -> Iterator[str]:
    """Each parameter is described as it is; one of a result may be described as an attribute."""
    by_name = {entry.name.lstrip("*"): entry for entry in given}
    kept = {entry.name for entry in attributes}
    for name in by_name:
        if name not in {parameter.name for parameter in wanted}:
            yield f"describes {name!r}, which is no parameter"
    for parameter in wanted:
        entry = by_name.get(parameter.name)
        if entry is not None:
            yield from _of_parameter(parameter, entry)
        elif parameter.name not in kept:
            yield f"does not describe {parameter.name!r}"
    order = [parameter.name for parameter in wanted if parameter.name in by_name]
    if order != [name for name in by_name if name in order]:
        yield "describes parameters in another order than the signature"


def _of_parameter(parameter: inspect.Parameter, entry: Entry) -> Iterator[str]:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return
    kind, _, default = entry.type.partition(", default ")
    optional = kind.endswith(", optional")
    if not kind.removesuffix(", optional").strip():
        yield f"{parameter.name} needs a type"
    if parameter.default is inspect.Parameter.empty:
        if optional or default:
            yield f"{parameter.name} has no default"
    elif parameter.default is None:
        if not optional and default != "None":
            yield f"{parameter.name} is None by default: say 'optional'"
    elif "<" in repr(parameter.default):  # made anew for each
        return
    elif optional or default not in _written(parameter.default):
        yield f"{parameter.name} has the default {parameter.default!r}, not {default or 'none'}"


def _written(value: Any) -> set[str]:
    """The ways in which a default may be written."""
    out = {repr(value)}
    if isinstance(value, str):
        out.add(f'"{value}"')
    elif isinstance(value, float):
        out.add(f"{value:g}")
    return out


def _of_examples(thing: Any) -> Iterator[str]:
    if ">>> " not in parsed(inspect.cleandoc(thing.__doc__ or "")).sections.get("Examples", ""):
        yield "has no section Examples with a session"


# --- the tests --------------------------------------------------------------------------------

PUBLIC = _public()


def test_everything_is_documented_in_full():
    assert len(PUBLIC) > 150
    found = {name: problems(thing) for name, thing in PUBLIC.items()}
    said = [f"{name}: {each}" for name in found if name not in UNWRITTEN for each in found[name]]
    assert not said, "\n".join(said)
    in_order = [name for name in UNWRITTEN if found.get(name) == []]
    assert not in_order, f"take these off UNWRITTEN: {in_order}"


def test_the_list_of_what_is_unwritten_names_what_there_is():
    assert {name for name in UNWRITTEN if "integrations" not in name} <= set(PUBLIC)


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("sklearn", "sklearn"),
        ("torchmetrics", "torchmetrics"),
        ("evaluate_metric", "evaluate"),
        ("lm_eval", "numpy"),
        ("mlflow", "mlflow"),
    ],
)
def test_integrations_are_documented_in_full(module, package):
    need(package)
    path = f"calibrant.integrations.{module}"
    home = importlib.import_module(path)
    names = getattr(home, "__all__", None) or [
        name
        for name, thing in vars(home).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == path
    ]
    things = {f"{path}.{name}": getattr(home, name) for name in names}
    for name, thing in things.items():
        if not _is_documented(thing) or any(thing is known for known in PUBLIC.values()):
            continue
        found = problems(thing)
        assert bool(found) == (name in UNWRITTEN), "\n".join([name, *found])


def test_losses_are_documented_in_full():
    need("torch")
    for name in cal.losses.__all__:
        assert not problems(getattr(cal.losses, name)), name


def _right(count: int, names: list[str] | None = None, *, tie: str = "low") -> float:
    """Say something about a number.

    Parameters
    ----------
    count : int
        How many there are.
    names : list of str, optional
        What they are called.
    tie : {"low", "high"}, default "low"
        Which one wins a tie.

    Returns
    -------
    float
        The share of them.

    Examples
    --------
    >>> 1 + 1
    2
    """
    return float(count)


class TestTheRule:
    def test_what_is_right_passes(self):
        assert problems(_right) == []

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ("    count : int\n        How many there are.\n", "", "does not describe 'count'"),
            ("How many there are.", "", "needs words"),
            ("count : int", "count", "needs a type"),
            ("list of str, optional", "list of str", "say 'optional'"),
            ('default "low"', 'default "high"', "has the default 'low'"),
            (', default "low"', "", "has the default 'low'"),
            ("count : int", "count : int, optional", "has no default"),
            ("count : int", "n : int", "'n', which is no parameter"),
            ("    float\n        The share of them.\n", "", "Returns is empty"),
            ("The share of them.", "", "needs words"),
            (">>> 1 + 1", "1 + 1", "no section Examples with a session"),
            ("    Returns\n    -------\n    float\n        The share of them.\n", "", "no section"),
            ("Parameters\n    ----------", "Arguments\n    ---------", "not a section"),
            ("Say something about a number.", "Say something", "full stop"),
            ("a number.", "a number\n    in lines.", "one line"),
            ("The share of them.", "As in calibrant._core.x.", "internal path"),
        ],
    )
    def test_what_is_missing_is_found(self, old, new, problem):
        spoiled = types.FunctionType(_right.__code__, globals(), "spoiled")
        spoiled.__annotations__ = _right.__annotations__
        spoiled.__defaults__, spoiled.__kwdefaults__ = _right.__defaults__, _right.__kwdefaults__
        assert old in str(_right.__doc__)
        spoiled.__doc__ = str(_right.__doc__).replace(old, new)
        assert any(problem in found for found in problems(spoiled)), problems(spoiled)
