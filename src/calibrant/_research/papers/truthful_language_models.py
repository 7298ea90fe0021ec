"""Appendix A of Lu, Wu, Hartline and Hu on language models: confidences after post-training may be
too far from calibrated for the order by a truthful error to be that of the losses.

A file has the answers of several models to multiple-choice questions: `confidence`, `correct` and
`part`, an index into `parts` of texts "benchmark|model|logits|prompt". Confidences of the kind
"norm" are probabilities, those of the kind "raw" scores.
"""

from __future__ import annotations

import os
import warnings
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant._api.metrics.losses import brier_score
from calibrant._api.metrics.truthful import lin_ce
from calibrant._core.binning import Quantile
from calibrant._core.errors import CalibrantWarning
from calibrant._core.typing import Array
from calibrant._research.papers.folder import Columns, Section, Table, columns_of
from calibrant.scaling._isotonic import IsotonicCalibration
from calibrant.scaling._platt import PlattScaling

FILE = "llm_multiple_choice.npz"
BINS = (5, 20, 100)
SPLIT_SEED = 42


class Answers(NamedTuple):
    """One model's confidences and whether its answers were right, (n,) each."""

    confidence: Array
    correct: Array


def find_file(data: str | os.PathLike[str] | None) -> Path | None:
    """The file of language models in a folder, or the path of the file itself; None if absent."""
    if data is None:
        return None
    path = Path(data) if Path(data).name == FILE else Path(data) / FILE
    return path if path.is_file() else None


def other_data(data: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The `data` that are left for pools: None for the file itself, or for a folder of it alone."""
    found = find_file(data)
    if found is None or data is None:
        return data
    return data if set(Path(data).glob("*.npz")) - {found} else None


def read_answers(path: Path) -> dict[tuple[str, str, str], dict[str, Answers]]:
    """The answers of each model by name, by benchmark, prompt and kind of logits."""
    with np.load(path, allow_pickle=False) as arrays:
        part, parts = arrays["part"], [str(text) for text in arrays["parts"]]
        confidence, correct = arrays["confidence"], arrays["correct"].astype(np.float64)
    found: dict[tuple[str, str, str], dict[str, Answers]] = {}
    for j, text in enumerate(parts):
        benchmark, model, kind, prompt = text.split("|")
        mine = Answers(confidence[part == j], correct[part == j])
        found.setdefault((benchmark, prompt, kind), {})[model] = mine
    return found


def covered_orders(models: dict[str, Answers]) -> list[dict[str, Any]]:
    """How many orders of two models by the corrected confidence error theorem 4.3 covers, how many
    agree with the loss after recalibration, and the median bias and gap: a row for each of `BINS`.
    """
    missed = np.array([1.0 - z.mean() for _, z in models.values()])
    losses = missed + [brier_score(z, _cross_fitted(c, z)) for c, z in models.values()]
    n, rows = next(iter(models.values())).correct.size, []
    for m in BINS:
        # The correction is the share of wrong answers, over n.
        errors = missed + [n * lin_ce(z, c, bins=Quantile(m)) for c, z in models.values()]
        biases = np.maximum(errors - losses, 0.0)
        # Each two models, the one with the smaller error first.
        pairs = list(combinations(np.argsort(errors, kind="stable"), 2))
        gaps = np.array([losses[b] - losses[a] for a, b in pairs])
        rows.append(
            {
                "bins": m,
                "orders": len(pairs),
                "covered": int(sum(gaps >= [biases[a] for a, _ in pairs])),
                "agree": int(sum(gaps >= 0)),
                "median bias": float(np.median(biases)),
                "median gap": float(np.median(np.abs(gaps))),
            }
        )
    return rows


def _cross_fitted(c: Array, z: Array, folds: int = 5) -> Array:
    """Confidences recalibrated by an increasing map, fitted to the answers of the other folds."""
    fold, out = np.random.default_rng(SPLIT_SEED).permutation(c.size) % folds, np.empty(c.size)
    for here in (fold == j for j in range(folds)):
        out[here] = IsotonicCalibration().fit(z[~here], c[~here]).transform(c[here])
    return out


def _test_halves(models: dict[str, Answers], kind: str, *, scaled: bool) -> dict[str, Answers]:
    """The second half of each model's answers in a random order, with confidences as given or
    through Platt scaling fitted to the first half.
    """
    out = {}
    for name, (c, z) in models.items():
        fit, test = np.array_split(np.random.default_rng(SPLIT_SEED).permutation(z.size), 2)
        confidence = c[test]
        if scaled:
            scores = c if kind == "raw" else np.log(np.maximum(c, 1e-6) / np.maximum(1 - c, 1e-6))
            scaler = PlattScaling(from_logits=True).fit(z[fit], scores[fit])
            confidence = np.asarray(scaler.transform(scores[test]))
        out[name] = Answers(confidence, z[test])
    return out


def appendix_a(path: Path) -> Columns:
    """Columns of covered orders for each benchmark, of confidences as given and after Platt scaling
    on other answers, summed over prompts; raw logits are scores, and are only shown scaled.
    """
    answers, rows = read_answers(path), []
    ways = (("norm", False), ("norm", True), ("raw", True))
    for benchmark, (kind, scaled) in product(dict.fromkeys(key[0] for key in answers), ways):
        with warnings.catch_warnings():
            # Confidences are few distinct values, so that rows of both halves are alike.
            warnings.simplefilter("ignore", CalibrantWarning)
            found = [
                covered_orders(_test_halves(models, kind, scaled=scaled))
                for (name, _, of), models in answers.items()
                if (name, of) == (benchmark, kind)
            ]
        for prompts in zip(*found, strict=True):
            confidences = "Platt scaled" if scaled else "as given"
            row: dict[str, Any] = {"benchmark": benchmark, "logits": kind}
            row |= {"confidences": confidences, "bins": prompts[0]["bins"]}
            row |= {key: sum(p[key] for p in prompts) for key in ("orders", "covered", "agree")}
            for key in ("median bias", "median gap"):
                row[key] = float(np.mean([p[key] for p in prompts]))
            rows.append(row)
    return columns_of(rows)


def section(path: Path | None) -> Section:
    """The section on language models; without their file it says what is missing."""
    heading = "Appendix A: language models after post-training"
    if path is None:
        return Section(
            heading,
            (
                f"Not run: it needs answers of language models in {FILE}, in the folder given as "
                "--data (see docs/research/papers.md). Calibrant does not ship them, because "
                "their repository states no licence.",
            ),
        )
    columns = appendix_a(path)
    rows = list(zip(*(columns[key] for key in _SUMMED), strict=True))
    said = []
    for way in ("as given", "Platt scaled"):
        counts = [
            [sum(row[i] for row in rows if row[:3] == ("norm", way, m)) for i in (3, 4)]
            for m in BINS
        ]
        shares = ", ".join(
            f"{covered} in {m} bins" for m, (_, covered) in zip(BINS, counts, strict=True)
        )
        said.append(f"{way} {shares}")
    return Section(
        heading,
        (
            "The paper warns that confidences after post-training may be too miscalibrated: if "
            "the bias exceeds the gap of the losses, no order is guaranteed. Theorem 4.3 covers, "
            f"of {counts[0][0]:,} orders of two models: {'; '.join(said)}.",
            "The error is the corrected confidence error of a random half of the answers in "
            "quantile bins; Platt scaling is fitted to the other half. Losses after recalibration "
            "are cross-fitted. A bias below 0 is noise and counts as 0. In the table, orders "
            "agree if loss and error have the same direction.",
        ),
        (Table("language_models", "Covered orders by benchmark, over both prompts.", columns),),
    )


_SUMMED = ("logits", "confidences", "bins", "orders", "covered")
