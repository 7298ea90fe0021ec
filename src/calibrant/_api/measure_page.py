"""The page that measures: one HTML file that reads predictions in a browser and sends nothing."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

from calibrant._core.texts import texts_with_options
from calibrant._core.version import __version__
from calibrant._data.links import LOG_FLOOR, OVERSHOOT, ROW_SUM_TOLERANCE
from calibrant._data.readers import columns
from calibrant._data.readers.csv_errors import DELIMITERS, EMPTY
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.budget import MAX_BLOCKS
from calibrant._inference.calibration_tests import SLOPE
from calibrant._inference.numbers import FEW_CLUSTERS, SHARES
from calibrant.results._pages.page import digest, read_text_file, script_json

# As in `verdict`, unless its arguments say otherwise.
BINS, LEVEL, TOLERANCE = 15, 0.95, 0.05
# Draws of the noise floor: the standard error of a p-value at its limit of 0.025 is 0.0035.
DRAWS = 2000
# Nothing is loaded and nothing is sent; pictures are made in the page, to be downloaded.
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def measure_page() -> str:
    """Make the page that measures, as HTML: the template with the script, the style, and the names
    of columns, the messages and the limits of this library.
    """
    script = "\n".join(map(read_text_file, ("measure.js", "measure_page.js")))
    style = "\n".join(map(read_text_file, ("page.css", "measure.css")))
    parts = {
        "policy": _POLICY.format(script=digest(script), style=digest(style)),
        "version": __version__,
        "style": style,
        "script": script,
        "config": script_json(measure_config()),
    }
    page = read_text_file("templates/measure.html")
    for name, part in parts.items():
        page = page.replace(f"{{{{ {name} }}}}", part)
    return page


def measure_config() -> dict[str, Any]:
    """Give what the page's script takes from Python: names of columns, messages, limits."""
    normal = NormalDist()
    return {
        "version": __version__,
        "texts": texts_with_options(),
        "usual": columns.USUAL,
        "lessUsual": columns.LESS_USUAL,
        "numbered": columns.NUMBERED,
        "named": columns.NAMED,
        "answered": columns.ANSWERED,
        "truths": columns.TRUTHS,
        "right": columns.RIGHT,
        "confidences": columns.CONFIDENCES,
        "predicted": columns.PREDICTED,
        "shown": columns.SHOWN,
        "gaps": sorted(EMPTY),
        "delimiters": DELIMITERS,
        "bins": BINS,
        "overshoot": OVERSHOOT,
        "rowSum": ROW_SUM_TOLERANCE,
        "logFloor": LOG_FLOOR,
        "eps": EPS,
        "level": LEVEL,
        "tail": (1.0 - LEVEL) / 2.0,
        "z": normal.inv_cdf(0.5 + LEVEL / 2.0),
        "slopeZ": normal.inv_cdf(1.0 - SHARES[SLOPE] * (1.0 - LEVEL) / 2.0),
        "shares": SHARES,
        "tolerance": TOLERANCE,
        "draws": DRAWS,
        "blocks": MAX_BLOCKS,
        "fewRows": FEW_CLUSTERS,
    }
