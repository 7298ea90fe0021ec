"""A page put together: template, style, scripts and data in one text."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from calibrant._core.optional import need
from calibrant.results._pages.embed import script_json
from calibrant.results._pages.vega import vega_script
from calibrant.results._rendering import shown

_HERE = "calibrant.results._pages"


def assembled(template: str, data: dict[str, Any], **facts: Any) -> str:
    """The page of a template. Every text in it is escaped, whatever it holds."""
    # In a function of their own: names of the libraries stay out of the page's.
    vega = f"(function(){{{vega_script()}\n}})();"
    code = _read("page.js")
    from calibrant import __version__ as version

    page = environment().get_template(template).render(
        **facts, version=version, css=_read("page.css"), vega=vega, code=code,
        data=script_json(data), policy=_policy(vega, code),
    )  # fmt: skip
    return str(page)


def environment(package: str = _HERE) -> Any:
    """The templates of a package's folder `templates`; every text in them is escaped."""
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _read(f"templates/{name}", package)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    return environment


def _read(name: str, package: str = _HERE) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """What the browser lets the page do: run these very scripts, and ask nobody for anything."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
