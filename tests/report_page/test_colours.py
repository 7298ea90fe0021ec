"""Colours of series on a page: seen on the paper, and told apart by everyone."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from calibrant.results._pages import charts
from calibrant.results._plots.style import (
    COLOURS,
    FULL_ROWS,
    colour_indexes,
    opacity_of,
    series_style,
)

# Machado, Oliveira and Fernandes (2009, doi:10.1109/TVCG.2009.113): what people see who lack one
# kind of cone, in linear RGB.
SIGHTS = {
    "all": np.eye(3),
    "no red": [[.152286, 1.052583, -.204868], [.114503, .786281, .099216],
               [-.003882, -.048116, 1.051998]],
    "no green": [[.367322, .860646, -.227968], [.280085, .672501, .047413],
                 [-.011820, .042940, .968881]],
    "no blue": [[1.255528, -.076749, -.178779], [-.078411, .930809, .147602],
                [.004733, .691367, .303900]],
}  # fmt: skip
# Ottosson's Oklab: distances in it are what the eye sees.
TO_CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(colour):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The ratio of WCAG 2.2."""
    light, dark = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (one, other))[::-1]
    return light / dark


def apart(one, other, sight):
    seen = [np.clip(np.array(SIGHTS[sight]) @ linear(c), 0, 1) for c in (one, other)]
    a, b = (np.array(TO_LAB) @ np.cbrt(np.array(TO_CONES) @ rgb) for rgb in seen)
    return float(np.linalg.norm(a - b))


def themes():
    """The variables of each block of the style sheet that has series: light, dark twice, print."""
    css = resources.files("calibrant.results._pages").joinpath("page.css").read_text("utf-8")
    blocks = re.findall(r"\{([^{}]*--s0:[^{}]*)\}", css)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", block)) for block in blocks]


def test_the_dark_is_the_dark_either_way():
    light, dark, chosen_dark, printed = themes()
    assert dark == chosen_dark and light != dark
    series = [f"s{i}" for i in range(charts.N_SERIES)]
    assert [light[s] for s in series] == [printed[s] for s in series]
    assert f"s{charts.N_SERIES}" not in light


@pytest.mark.parametrize("which", [0, 1, 3], ids=["light", "dark", "print"])
def test_series_are_seen_and_told_apart(which):
    theme = themes()[which]
    grounds = [theme["paper"], theme["page"]]
    series = [theme[f"s{i}"] for i in range(charts.N_SERIES)]
    for colour in series:
        assert all(contrast(colour, ground) >= 3 for ground in grounds), colour
    # Grey is what does not differ clearly: no series may look like it.
    for one, other in combinations([*series, theme["muted"]], 2):
        assert apart(one, other, "all") >= 0.09, (one, other)
        for sight in ("no red", "no green"):
            assert apart(one, other, sight) >= 0.05, (one, other, sight)
        assert apart(one, other, "no blue") >= 0.04, (one, other)


def test_no_two_series_look_the_same_whatever_their_number():
    names = [f"model {i}" for i in range(500)]
    looks = charts.series_looks(names)
    assert len({str(each) for each in looks.values()}) == 500
    drawn = [series_style(turn) for turn in range(500)]
    assert len({(d["color"], str(d["linestyle"])) for d in drawn}) == 500
    assert {d["color"] for d in drawn} == set(COLOURS)


def test_a_name_keeps_its_look():
    names = ["b", "a", "c"]
    assert charts.series_looks(names) == charts.series_looks(reversed(names))
    assert colour_indexes(names) == {"a": 0, "b": 1, "c": 2}


def test_bins_of_few_rows_are_paler():
    shown = opacity_of(np.array([0, 1, FULL_ROWS // 2, FULL_ROWS, 10 * FULL_ROWS]))
    assert (np.diff(shown) >= 0).all() and shown[0] > 0.2 and shown[-2:].tolist() == [1, 1]


def test_many_curves_can_all_be_told_apart_by_their_markers_too():
    looks = [series_style(turn) for turn in range(28)]
    known = {(each["color"], each["marker"], str(each["linestyle"])) for each in looks}
    assert len(known) == 28
