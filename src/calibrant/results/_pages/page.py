"""A page as one HTML file: data embedded, template rendered, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from calibrant._core.atomic_files import atomic_write
from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant._core.version import __version__
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._plots.style import FULL_ROWS
from calibrant.results._plots.typing import ReliabilityData, SmoothData
from calibrant.results._rendering import range_text, shortened, shown, shown_p

_HERE = "calibrant.results._pages"
ENDINGS = (".html", ".htm")
# The format of numbers in charts: more digits than a screen can show.
DIGITS = "%.8g"
# The columns of a reliability table, by the names that the page's script has for them.
_BIN_KEYS = {
    "a": "lower",
    "b": "upper",
    "n": "n",
    "s": "share",
    "u": "mean_predicted",
    "z": "mean_target",
    "g": "gap",
    "lo": "low",
    "hi": "high",
}


def render_page(template: str, data: dict[str, Any], **facts: Any) -> str:
    """Render a template as the HTML text of one page, with its scripts, style and data inside.

    `data` is what the page's script draws, as JSON. `facts` are the variables of the template;
    every text among them is escaped.
    """
    # The libraries run inside a function, so that their names do not clash with the page's.
    vega = f"(function(){{{vega_script()}\n}})();"
    code = "\n".join(map(read_text_file, ("downloads.js", "page.js")))
    parts: dict[str, Any] = {
        "vega": vega,
        "code": code,
        "css": read_text_file("page.css"),
        "data": script_json(data),
    }
    parts |= {
        "version": __version__,
        "full_rows": FULL_ROWS,
        "policy": _security_policy(vega, code),
    }
    return str(environment().get_template(template).render(**facts, **parts))


def render_result_page(
    template: str, data: dict[str, Any], *, name: Any, title: str, source: Any, **facts: Any
) -> str:
    """Render the page of a result, with its recipe: where the rows come from, and versions.

    `name` is the title that the caller gives, `title` the one without it.
    """
    return render_page(
        template,
        data,
        title=checked_name(name, title),
        source=checked_source(source),
        versions=versions(),
        **facts,
    )


@cache
def environment(package: str = _HERE) -> Any:
    """The Jinja environment that compiles the templates in a package's folder `templates`.

    Every text that a template writes is escaped. The environment is cached, so that each template
    is compiled once.
    """
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: read_text_file(f"templates/{name}", package)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["shown_p"] = shown_p
    environment.filters["shortened"] = shortened
    environment.globals["limits"] = limits_text
    return environment


def read_text_file(name: str, package: str = _HERE) -> str:
    """Read a text file in the folder of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _security_policy(*scripts: str) -> str:
    """The content security policy of a page: these scripts alone run, and nothing is loaded."""
    hashes = " ".join(f"'sha256-{digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(script: str) -> str:
    """The SHA-256 digest of a script in base64, as a content security policy names scripts."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_page(path: str | os.PathLike[str], make: Callable[[], str]) -> Path:
    """Write the HTML text that `make` returns to a file, which is replaced; return its path.

    A path that is not of an HTML file is an error before the page is made; a file that cannot be
    written is an error afterwards.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError(f"path must name a file, such as 'page.html'; got {path!r}")
    file = Path(path)
    if file.is_dir():
        raise InputError(f"path={str(path)!r} is a folder: name a file in it, such as page.html")
    if file.suffix.lower() not in ENDINGS:
        raise InputError(
            f"path={str(path)!r}: a page is HTML; give it a name that ends in .html (to_json() and "
            "a browser's printing make other things of it)"
        )
    content = make()
    try:
        with atomic_write(file) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"path={str(path)!r} cannot be written: {why}") from None
    return file


def script_json(content: Any) -> str:
    """Content as JSON for a script element, with characters escaped that could end the element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def chart_numbers(values: Any) -> list[Any]:
    """Round numbers to eight digits, as many as a chart can show; None if not finite."""
    return [_chart_number(value) for value in values]


def _chart_number(value: float) -> float | int | None:
    """A number rounded to eight digits: an int if it is whole, None if it is not finite."""
    if not math.isfinite(value):
        return None
    if isinstance(value, int) or value == int(value):
        return int(value)
    return float(DIGITS % value)


def table_columns(table: ReliabilityData, level: float) -> dict[str, list[Any]]:
    """The columns of a reliability table under the short keys that the page's script reads.

    `_BIN_KEYS` maps the keys to columns. `level` is that of the limits `lo` and `hi`.
    """
    columns = table.intervals(level)
    weight = sum(columns["weight"]) or 1.0
    columns["share"] = [w / weight for w in columns["weight"]]
    return {key: chart_numbers(columns[name]) for key, name in _BIN_KEYS.items()}


def series_columns(table: ReliabilityData, level: float) -> dict[str, Any]:
    """The columns of one series of an overlay: the bins of its table, and its curve under `line`.

    The bins are as in `table_columns`. The line has predictions `u` and mean targets `z`: the
    isotonic curve of the rows, or a line through the bins where no rows are in memory.
    """
    columns = table_columns(table, level)
    curve = table.curve(band=False)
    if curve is not None:
        points = curve.columns()
        line = {"u": chart_numbers(points["prediction"]), "z": chart_numbers(points["mean_target"])}
    else:
        kept = [i for i, n in enumerate(columns["n"]) if n]
        line = {key: [columns[key][i] for i in kept] for key in ("u", "z")}
    return {**columns, "line": line}


def lines_caption(tables: Sequence[ReliabilityData]) -> str:
    """What the lines in a diagram of several tables are, in words.

    They are isotonic curves, or join the bins of tables without rows in memory.
    """
    curves = [table.curve(band=False) for table in tables]
    if all(curve is None for curve in curves):
        return "lines join the bins"
    others = ", or join bins" if None in curves else ""
    return f"lines are isotonic curves (CORP) of the rows{others}"


def curve_columns(curve: SmoothData, level: float) -> dict[str, list[Any]]:
    """The points of a smoothed curve by short keys, where at least one row is near.

    Near is within about a bandwidth. `u` are predictions and `z` smoothed mean targets. Hard labels
    also have `lo` and `hi`, the limits at this level.
    """
    has_limits = curve.n_effective is not None
    columns = curve.intervals(level) if has_limits else curve.columns()
    near = curve.n_near
    kept = [
        i for i, z in enumerate(columns["mean_target"]) if math.isfinite(z) and not near[i] < 1.0
    ]
    out = {
        "u": chart_numbers(columns["prediction"][i] for i in kept),
        "z": chart_numbers(columns["mean_target"][i] for i in kept),
    }
    if has_limits:
        out["lo"] = chart_numbers(columns["low"][i] for i in kept)
        out["hi"] = chart_numbers(columns["high"][i] for i in kept)
    return out


def percent_text(share: float) -> str:
    """A share in whole percent: 95%."""
    return f"{100 * share:.0f}%"


def limits_text(low: float, high: float) -> str:
    """An interval for a table, ``low to high``; a dash if `low` is NaN: there is no interval."""
    return "–" if low != low else range_text(low, high)


def number_texts(values: Any) -> list[str]:
    """Format numbers as texts for the page, whose script formats no numbers itself."""
    return [shown(float(value)) for value in values]


def vega_script() -> str:
    """The script of Vega, Vega-Lite and Vega-Embed, so that a page draws without a network.

    Bundling takes seconds, so the script is cached in the user's cache folder.
    """
    cached = _cache_folder() / f"vega-{_vega_version()}.js"
    with suppress(OSError, UnicodeDecodeError):
        script = cached.read_text(encoding="utf-8")
        if "window.vegaEmbed=" in script:
            return script
    script = str(need("vl_convert").javascript_bundle())
    # If the cache cannot be written, the next page bundles again.
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(cached) as temporary:
            temporary.write_text(script, encoding="utf-8")
    return script


def _vega_version() -> str:
    """The version of vl-convert, which bundles Vega; read without importing it where possible."""
    if find_spec("vl_convert") is not None:
        with suppress(PackageNotFoundError):
            return version("vl-convert-python")
    return str(need("vl_convert").__version__)


def _cache_folder() -> Path:
    """The folder `calibrant` in the user's cache folder of each operating system."""
    if os.name == "nt":
        folder = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = str(Path.home() / "Library" / "Caches")
    else:
        folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "calibrant"
