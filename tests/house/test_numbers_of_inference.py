"""Numbers that decide a limit or a p-value stand in one file, those of costs in another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "src" / "calibrant" / "_inference"
FILES = ("numbers", "budget", "rounding")
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem not in FILES)

# Arithmetic: moments, halves and squares; and the 95 % level with its tails.
FORMULAS = {-1, 0, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 0.05, 0.95, 0.975}
# Numbers up to this are guards against rounding and division by 0.
GUARD = 1e-6
# Calls whose whole numbers decide no limit: streams of random numbers, most steps of a loop that
# ends by itself, sizes of caches, and the library's 15 bins.
CALLS = {"default_rng", "normal", "range", "lru_cache", "nnls", "EqualWidth", "roots_legendre"}
# What stands in a formula with its reference or its reason beside it.
ELSEWHERE = {
    "bayes_error": {12.0, 45.0, 1e-3},  # ends of an integral, step of a derivative
    "blocks": {1.5},  # Webb's signs
    "cells": {1024},  # which of two ways to number is faster
    "certificates": {0.002, 0.1, 5, 7},  # what a grid resolves, an example, columns
    "change": {5.0, 20.0},  # the golden ratio, the alarm
    "context": {1000},  # the default number of resamples
    "gap_paths": {1e12},  # as good as infinitely many trials
    "methods": {700.0},  # exponents that do not overflow
    "null": {32},  # bits
    "paths": {1e-4, 2e-4},  # interpolation where a formula is 0 / 0
    "random_effects": {21, 40.0, 1e4, 1e-4},  # ends and steps of searches
    "ranks": {1.96},  # as the published tables round it
    "second_moments": {10},  # a stream of random numbers
    "significance": {0.65},  # the plotting positions of Hosking and Wallis
    "spline_curve": {5.0},  # the longest step of a fit that converges
    "streams": {700.0},  # exponents that do not overflow
    "vote_bounds": {1e-3},  # bounds are valid whatever it is
}


def name_of(call: ast.Call) -> str:
    of = call.func
    return of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""


def literals(node: ast.AST) -> Iterator[float]:
    """Numbers in the code below a node, but indices and the arguments of `CALLS`."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node.value
    skipped = isinstance(node, ast.Call) and name_of(node) in CALLS
    for child in [] if skipped else ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and child is node.slice):
            yield from literals(child)


def unexplained(source: str) -> set[float]:
    return {x for x in literals(ast.parse(source)) if x not in FORMULAS and not 0 < x <= GUARD}


@pytest.mark.parametrize("module", MODULES)
def test_no_other_module_has_a_number_that_decides(module):
    found = unexplained((ROOM / f"{module}.py").read_text())
    assert found == ELSEWHERE.get(module, set())


def test_a_number_in_a_formula_would_be_seen():
    assert unexplained("def f(x):\n    return 1.3 * x[7] + 0.5 * max(x, 1e-300)") == {1.3}
    assert unexplained("for _ in range(60):\n    few = n < 30") == {30}


def entries() -> dict[str, str]:
    """Each name in `numbers`, with the comment above it."""
    out, comment, fresh = {}, "", True
    for line in (ROOM / "numbers.py").read_text().splitlines():
        if line.startswith("# ---") or not line:
            comment, fresh = "", True
        elif line.startswith("#"):
            comment, fresh = (line if fresh else f"{comment} {line}"), False
        elif name := re.match(r"([A-Z_]+) = ", line):
            out[name[1]], fresh = comment, True
    return out


@pytest.mark.parametrize("name", sorted(entries()))
def test_each_number_says_what_it_buys_and_what_shows_it(name):
    comment = entries()[name].replace("#", "")
    assert len(comment.split()) > 8
    shown = r"\b(coverage|verdicts|votes|benchmarks/\w+\.py|tests/\w+/\w+\.py)\b"
    assert re.search(shown, comment), comment
    for file in re.findall(r"(?:benchmarks|tests)/[\w/]+\.py", comment):
        assert (ROOT / file).exists()


def test_numbers_are_few_and_all_of_them_used():
    names = entries()
    code = [path.read_text() for path in (ROOM.parent).rglob("*.py") if path.stem != "numbers"]
    unused = [n for n in names if not any(re.search(rf"\b{n}\b", each) for each in code)]
    assert not unused and len(names) <= 45
