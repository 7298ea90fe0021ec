"""Recipes: the options by which sums are made, as plain data.

A state file holds them, and two states are merged only if their recipes are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant._core.binning import Edges, EqualWidth, FixedRule
from calibrant._core.errors import StateError


def rule_to_dict(rule: FixedRule) -> dict[str, Any]:
    """Describe a rule of fixed bins as plain data: its "kind" and the options of that kind.

    The kind is "equal-width" or "edges".
    """
    if isinstance(rule, EqualWidth):
        shape = {"closed": rule.closed, "drop_one": rule.drop_one}
        return {"kind": "equal-width", "m": rule.m, **shape}
    return {"kind": "edges", "edges": list(rule.edges), "closed": rule.closed}


def rule_from_dict(data: Mapping[str, Any]) -> FixedRule:
    """Make the rule of fixed bins from the plain data of `rule_to_dict`."""
    if data["kind"] == "equal-width":
        return EqualWidth(data["m"], data["closed"], data["drop_one"])
    return Edges(data["edges"], data["closed"])


def check_recipe(recipe: Mapping[str, Any]) -> None:
    """Raise a StateError for faults in a recipe that the constructors would accept.

    A recipe is the options by which sums are made, as plain data.
    """
    given = [recipe["from_logits"], recipe.get("from_logprobs", False)]
    if not all(isinstance(flag, bool) for flag in (*given, recipe["rule"].get("drop_one", False))):
        raise StateError("from_logits, from_logprobs and drop_one must be true or false")
    if all(given):
        raise StateError("from_logits and from_logprobs cannot both be true")
    if recipe["rule"]["kind"] not in ("equal-width", "edges"):
        raise StateError("its bins must be of the kind equal-width or edges")
    for key in ("classes", "measures"):
        values = [] if recipe[key] is None else recipe[key]
        if not isinstance(values, list) or not all(
            isinstance(v, str | int | float) for v in values
        ):
            raise StateError(f"{key} must be a list of numbers or texts")
    if recipe["classes"] is not None and len(recipe["classes"]) < 2:
        raise StateError("classes must be two names or more")


def check_same_recipe(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise a StateError that names the options in which two recipes differ, if any."""
    differ = [
        f"{key} ({mine.get(key)!r} and {theirs.get(key)!r})"
        for key in {**mine, **theirs}
        if mine.get(key) != theirs.get(key)
    ]
    if differ:
        raise StateError(f"states with different recipes cannot be merged: {', '.join(differ)}")
