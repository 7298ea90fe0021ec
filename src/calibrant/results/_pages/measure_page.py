"""The page that measures in the browser, put together of its script, its style and its data."""

from __future__ import annotations

from typing import Any

from calibrant.results._pages.page import digest, read_text_file, script_json

# Nothing is loaded and nothing is sent; pictures are made in the page, to be downloaded.
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def render_measure_page(config: dict[str, Any]) -> str:
    """Render the page: the template with the script, the style and the data inside."""
    script = "\n".join(map(read_text_file, ("measure.js", "measure_page.js")))
    style = "\n".join(map(read_text_file, ("page.css", "measure.css")))
    parts = {
        "policy": _POLICY.format(script=digest(script), style=digest(style)),
        "version": config["version"],
        "style": style,
        "script": script,
        "config": script_json(config),
    }
    page = read_text_file("templates/measure.html")
    for name, part in parts.items():
        page = page.replace(f"{{{{ {name} }}}}", part)
    return page
