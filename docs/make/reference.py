"""The reference's pages: every public name, under the heading that its module belongs to."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant import examples, plots, results, scaling
from tables import table

# Title of a page, and how the modules begin whose public names are on it; the first that fits.
PAGES = {
    "measures": ("Measures", ("calibrant._api.metrics.binned", "calibrant._api.metrics.by_name",
                              "calibrant._api.metrics.smooth",
                              "calibrant._api.metrics.truthful", "calibrant._api.metrics.losses",
                              "calibrant._api.metrics.threshold_loss",
                              "calibrant._api.metrics.distribution")),
    "worth": ("Intervals, noise floors and tests", ("calibrant._api.metrics",)),
    "streams": ("Streams", ("calibrant._api.streaming",)),
    "bins": ("Bins", ("calibrant._core.binning",)),
    "recalibration": ("Recalibration", ("calibrant.scaling",)),
    "diagrams": ("Diagrams", ("calibrant.results._plots",)),
    "results": ("Results", ("calibrant.results",)),
    "errors": ("Errors and warnings", ()),
    "examples": ("Examples", ("calibrant.examples",)),
    "everything": ("Evaluate, compare, check", ("calibrant",)),
}  # fmt: skip
# Modules whose every public name is shown. They need packages that the site is built without.
INTEGRATIONS = (
    "calibrant.integrations.sklearn",
    "calibrant.integrations.torchmetrics",
    "calibrant.integrations.evaluate_metric",
    "calibrant.integrations.inspect_ai",
    "calibrant.integrations.lm_eval",
    "calibrant.integrations.ignite",
    "calibrant.integrations.tensorboard",
    "calibrant.integrations.evidently",
    "calibrant.integrations.hugging_face",
)
# The losses need torch, which the site is built without: their names are read and not imported.
LOSSES = "calibrant.losses"
# A path through a room that is not public.
_INTERNAL = re.compile(r"\bcalibrant(?:\.\w+)*?\._\w+(?:\.\w+)+")
ORDER = (
    "everything", "measures", "bins", "worth", "streams", "recalibration", "results", "diagrams",
    "errors", "examples",
)  # fmt: skip


@cache
def public() -> dict[str, Any]:
    """Every public function and class by its path, `calibrant.ece`, which is its anchor too."""
    found: dict[str, Any] = {}
    for module in (cal, scaling, plots, results, examples):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing) and all(thing is not known for known in found.values()):
                found[f"{module.__name__}.{name}"] = thing
    return found


@cache
def losses() -> list[str]:
    """The public paths of the losses for training."""
    source = Path(cal.__file__).parent / "losses" / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [f"{LOSSES}.{name}" for name in ast.literal_eval(node.value)]
    raise LookupError("calibrant.losses has no __all__")


def public_paths(html: str) -> str:
    """A page on which a public name goes by its public path, wherever it is defined."""
    known = {path.rpartition(".")[2]: path for path in [*public(), *losses()]}

    def path_of(found: re.Match[str]) -> str:
        """The path of the class, or else of the last name, that is public; of none, its name."""
        parts = found[0].split(".")
        named = [i for i, part in enumerate(parts) if part in known]
        classes = [i for i in named if parts[i][0].isupper()]
        at = next(iter([*classes, *reversed(named)]), None)
        return parts[-1] if at is None else ".".join([known[parts[at]], *parts[at + 1 :]])

    return _INTERNAL.sub(path_of, html)


def _short(path: str) -> str:
    """A path as users write it, after `import calibrant as cal`."""
    return f"cal.{path.partition('.')[2]}" if path.count(".") == 1 else path


def pages() -> dict[str, str]:
    """Every page: its path, and its text."""
    named = {page: _on(page) for page in ORDER}
    found = {"reference/index.md": _index(named)}
    for page, things in named.items():
        shown = [_entry(path, thing) for path, thing in things.items()]
        found[f"reference/{page}.md"] = "\n\n".join([f"# {PAGES[page][0]}", *shown]) + "\n"
    shown = [f"::: {path}" for path in losses()]
    found["reference/losses.md"] = "\n\n".join(["# Losses for training", *shown]) + "\n"
    shown = [f"::: {module}\n    options: {{show_root_full_path: true}}" for module in INTEGRATIONS]
    found["reference/integrations.md"] = "\n\n".join(["# Integrations", *shown]) + "\n"
    return found


def _entry(path: str, thing: Any) -> str:
    """What a page says of a name. What many classes have from a public one stands there once."""
    if not inspect.isclass(thing):
        return f"::: {path}"
    known = {id(other): name for name, other in public().items()}
    own, shared = [], []
    seen = set(vars(thing))
    for base in thing.__mro__[1:]:
        names = [name for name in vars(base) if not name.startswith("_") and name not in seen]
        seen.update(names)
        if id(base) in known:
            shared += [
                f"[`{name}`][{known[id(base)]}.{name}]"
                for name in names
                if inspect.isroutine(getattr(base, name)) or isinstance(vars(base)[name], property)
            ]
        elif base.__module__.startswith("calibrant"):
            own += names
    entry = f"::: {path}\n    options: {{inherited_members: {own if shared else 'true'}}}"
    return f"{entry}\n\nInherited: {', '.join(shared)}." if shared else entry


def nav() -> list[dict[str, str]]:
    titles = [(PAGES[page][0], page) for page in ORDER]
    titles += [("Losses for training", "losses"), ("Integrations", "integrations")]
    return [{title: f"reference/{page}.md"} for title, page in titles]


def _on(page: str) -> dict[str, Any]:
    """The paths of a page and what they name, module by module."""
    starts = PAGES[page][1]
    found = {path: thing for path, thing in public().items() if _page_of(thing) == page}

    def order(path: str) -> tuple[int, str]:
        module = found[path].__module__
        rooms = [i for i, start in enumerate(starts) if module.startswith(start)]
        return next(iter(rooms), 0), path

    return {path: found[path] for path in sorted(found, key=order)}


def _page_of(thing: Any) -> str:
    if thing.__module__ == "calibrant":  # as errors say of themselves, for tracebacks
        return "errors"
    return next(page for page, (_, starts) in PAGES.items() if thing.__module__.startswith(starts))


def _index(named: dict[str, dict[str, Any]]) -> str:
    parts = [
        "# Reference",
        "Every public name, after `import calibrant as cal`. Functions of labels and predictions "
        "are called `f(y_true, y_proba, ...)`; all options are keywords. `cal.__version__` is the "
        "version.",
        "Other references: [the command line](command-line.md), [files](files.md), "
        "[JSON](json.md), [the report page](report-page.md), [the state file](state-file.md), "
        "[measures](../measures/index.md) and the [glossary](glossary.md).",
    ]
    for page, things in named.items():
        parts.append(f"## [{PAGES[page][0]}]({page}.md)")
        rows = [(f"[`{_short(path)}`][{path}]", _sentence(thing)) for path, thing in things.items()]
        parts.append(table(["name", "what it is"], rows))
    parts.append("## [Losses for training](losses.md)")
    parts.append(
        "`calibrant.losses`, for torch: "
        + ", ".join(f"[`{path.rpartition('.')[2]}`][{path}]" for path in losses())
        + "."
    )
    parts.append(
        "[Integrations](integrations.md) has the classes for scikit-learn, torchmetrics, Hugging "
        "Face, Inspect AI, lm-evaluation-harness and others."
    )
    return "\n\n".join(parts) + "\n"


def _sentence(thing: Any) -> str:
    text = str(inspect.getdoc(thing)).partition("\n\n")[0]
    return " ".join(text.split())
