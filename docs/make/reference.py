"""The reference's pages: every public name, under the heading that its module belongs to."""

from __future__ import annotations

import inspect
from typing import Any

from tables import table

import calibrant as cal
from calibrant import examples, scaling
from calibrant import plots as show

# Title of a page, and how the modules begin whose public names are on it; the first that fits.
PAGES = {
    "measures": ("Measures", ("calibrant._api.metrics.binned", "calibrant._api.metrics.smooth",
                              "calibrant._api.metrics.truthful", "calibrant._api.metrics.losses",
                              "calibrant._api.metrics.distribution")),
    "worth": ("Intervals, noise floors and tests", ("calibrant._api.metrics",)),
    "streams": ("Streams", ("calibrant._api.streaming",)),
    "bins": ("Bins", ("calibrant._core.binning",)),
    "recalibration": ("Recalibration", ("calibrant.scaling",)),
    "diagrams": ("Diagrams", ("calibrant.results._plots",)),
    "results": ("Results", ("calibrant.results",)),
    "errors": ("Errors and warnings", ("calibrant._core.errors",)),
    "examples": ("Examples", ("calibrant.examples",)),
    "everything": ("All at once", ("calibrant",)),
}  # fmt: skip
# Modules whose every public name is shown. They need packages that the site is built without.
INTEGRATIONS = (
    "calibrant.integrations.sklearn",
    "calibrant.integrations.torchmetrics",
    "calibrant.integrations.evaluate_metric",
)
ORDER = (
    "everything", "measures", "bins", "worth", "streams", "recalibration", "results", "diagrams",
    "errors", "examples",
)  # fmt: skip


def public() -> dict[str, Any]:
    """Everything that is called by name: how users write it, and the object."""
    found = {f"cal.{name}": getattr(cal, name) for name in cal.__all__ if name != "__version__"}
    known = set(map(id, found.values()))
    for module in (scaling, show, examples):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and id(thing) not in known:
                found[f"{module.__name__}.{name}"] = thing
    return found


def path_of(thing: Any) -> str:
    """Where a name is defined, which is its anchor in the reference."""
    return f"{thing.__module__}.{thing.__qualname__}"


def pages() -> dict[str, str]:
    """Every page: its path, and its text."""
    named = {page: _on(page) for page in ORDER}
    found = {"reference/index.md": _index(named)}
    for page, things in named.items():
        shown = [f"::: {path_of(thing)}" for thing in things.values()]
        found[f"reference/{page}.md"] = "\n\n".join([f"# {PAGES[page][0]}", *shown]) + "\n"
    shown = [f"::: {module}\n    options: {{show_root_full_path: true}}" for module in INTEGRATIONS]
    found["reference/integrations.md"] = "\n\n".join(["# Integrations", *shown]) + "\n"
    return found


def nav() -> list[dict[str, str]]:
    titles = [(PAGES[page][0], page) for page in ORDER] + [("Integrations", "integrations")]
    return [{title: f"reference/{page}.md"} for title, page in titles]


def _on(page: str) -> dict[str, Any]:
    """The names of a page, module by module."""
    starts = PAGES[page][1]
    found = {name: thing for name, thing in public().items() if _page_of(thing) == page}

    def place(name: str) -> tuple[int, str]:
        module = found[name].__module__
        return next(i for i, start in enumerate(starts) if module.startswith(start)), name

    return {name: found[name] for name in sorted(found, key=place)}


def _page_of(thing: Any) -> str:
    return next(page for page, (_, starts) in PAGES.items() if thing.__module__.startswith(starts))


def _index(named: dict[str, dict[str, Any]]) -> str:
    parts = [
        "# Reference",
        "Every public name. `import calibrant as cal`, and all functions of labels and "
        "predictions are "
        "called `f(y_true, y_proba, ...)`, with every option by its name.",
    ]
    for page, things in named.items():
        parts.append(f"## [{PAGES[page][0]}]({page}.md)")
        rows = [
            (f"[`{name}`][{path_of(thing)}]", _sentence(thing)) for name, thing in things.items()
        ]
        parts.append(table(["name", "what it is"], rows))
    parts.append(
        "Of scikit-learn, torchmetrics and Hugging Face's `evaluate`: [integrations]"
        "(integrations.md). `cal.__version__` is the version."
    )
    return "\n\n".join(parts) + "\n"


def _sentence(thing: Any) -> str:
    text = str(inspect.getdoc(thing)).partition("\n\n")[0]
    return " ".join(text.split())
