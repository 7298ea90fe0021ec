"""Every recalibration map on real predictions: losses on rows that a map was not fitted to.

    python benchmarks/maps.py FOLDER [--only PATTERN ...] [--folds 2] [--groups game] [--each]

FOLDER has one .npz file a set, with arrays of these names:

    prob, outcome                                    binary
    probs, labels                                    class probabilities; two columns are binary
    logits, labels                                   logits of classes
    val_logits, val_labels, test_logits, test_labels (or dev_..., or probs) a split of its own

Files with other arrays are passed over, and named. A set without a split is divided into folds at
random, and each row goes through a map that was fitted to the other folds; rows of one cluster, by
an array that --groups names where a file has it, stay together. Maps are all that are registered
and that `calibrant.recommend` would try on as many rows and classes, and none: 'as they are'.

Prints, for binary and for multiclass sets, the maps by their win rate on log loss: the share of
comparisons with another map on the same set that a map wins, a tie being half of one. The ratio is
the geometric mean of the log loss over that of the predictions as they are. --each adds the log
loss of every set.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant._api.cross_fitting import fit_and_apply, fold_of
from calibrant._api.recommend import _maps_to_try
from calibrant._core.errors import CalibrantError
from calibrant._core.map_names import METHODS
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant.results._recommendation import UNCHANGED
from calibrant.scaling._load import new_scaler
from calibrant.scaling._predictions import to_predictions

Array = NDArray[Any]
MEASURES = {"log loss": cal.log_loss, "Brier": cal.brier_score, "ECE": cal.ece}
# A set: measure by measure, the value of each map.
Values = dict[str, dict[str, float]]


class Rows(NamedTuple):
    y: Array
    p: Array
    from_logits: bool
    groups: Array | None

    @property
    def samples(self) -> Samples:
        return to_samples(self.y, self.p, None, self.from_logits)


def read(path: Path, groups: str | None) -> tuple[Rows, Rows | None] | None:
    """The rows of a file, and the rows to test on where it has them; None if it has no such."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    for first in ("val_", "dev_"):
        fit, test = (part(arrays, prefix, None) for prefix in (first, "test_"))
        if fit is not None and test is not None:
            return fit, test
    whole = part(arrays, "", groups)
    return None if whole is None else (whole, None)


def part(arrays: dict[str, Array], prefix: str, groups: str | None) -> Rows | None:
    own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    clusters = own.get(groups) if groups else None
    if {"prob", "outcome"} <= own.keys():
        return Rows(own["outcome"].astype(int), own["prob"].astype(float), False, clusters)
    if {"logits", "labels"} <= own.keys():
        return Rows(own["labels"].astype(int), own["logits"].astype(float), True, clusters)
    if {"probs", "labels"} <= own.keys():
        p = np.clip(own["probs"].astype(float), 0.0, 1.0)
        p /= p.sum(axis=1, keepdims=True)
        p = p[:, 1] if p.shape[1] == 2 else p
        return Rows(own["labels"].astype(int), p, False, clusters)
    return None


def _mapped(
    name: str, samples: Samples, test: Any, fold: NDArray[np.intp], folds: int
) -> NDArray[np.float64]:
    """Predictions of the test rows through a map; without test rows, each row's through a map that
    is fitted to the other folds.
    """
    options = {"from_logits": samples.from_logits}
    if test is not None:
        return fit_and_apply(new_scaler(METHODS[name], **options), samples, test.samples)
    out = np.zeros(samples.predictions.shape)
    for j in range(folds):
        here = fold == j
        scaler = new_scaler(METHODS[name], **options)
        out[here] = fit_and_apply(scaler, samples.take(~here), samples.take(here))
    return out


def measured(fit: Rows, test: Rows | None, folds: int) -> Values:
    """What each map leaves of each measure."""
    samples, rows = fit.samples, fit if test is None else test
    mapped = {
        UNCHANGED: to_predictions(rows.p, given=rows.from_logits).probabilities(),
    }
    groups = None if fit.groups is None else np.unique(fit.groups, return_inverse=True)[1]
    fold = fold_of(samples, groups, folds, 0)
    for name in _maps_to_try(None, samples)[0]:
        try:
            mapped[name] = _mapped(name, samples, test, fold, folds)
        except CalibrantError as error:
            print(f"  {name}: {error}", file=sys.stderr)
    return {
        measure: {name: float(function(rows.y, p)) for name, p in mapped.items()}
        for measure, function in MEASURES.items()
    }


def win_rates(sets: list[dict[str, float]]) -> dict[str, float]:
    """The share of comparisons, on one set each, that a map wins."""
    won: dict[str, list[float]] = {}
    for values in sets:
        for one, mine in values.items():
            for other, theirs in values.items():
                if one != other:
                    won.setdefault(one, []).append(0.5 if mine == theirs else float(mine < theirs))
    return {name: float(np.mean(each)) for name, each in won.items()}


def table(sets: dict[str, Values]) -> Iterator[str]:
    rates = {m: win_rates([values[m] for values in sets.values()]) for m in MEASURES}
    losses = [values["log loss"] for values in sets.values()]
    yield "| rank | map | sets | " + " | ".join(MEASURES) + " | log loss ratio |"
    yield "|" + "---|" * (len(MEASURES) + 4)
    order = sorted(rates["log loss"], key=lambda name: -rates["log loss"][name])
    for rank, name in enumerate(order, 1):
        ratios = [np.log(v[name] / v[UNCHANGED]) for v in losses if name in v]
        cells = " | ".join(f"{rates[m][name]:.2f}" for m in MEASURES)
        ratio = float(np.exp(np.mean(ratios)))
        yield f"| {rank} | {name} | {len(ratios)} | {cells} | {ratio:.3f} |"


def each_set(sets: dict[str, Values]) -> Iterator[str]:
    names = list(dict.fromkeys(name for values in sets.values() for name in values["log loss"]))
    yield "| log loss | " + " | ".join(names) + " |"
    yield "|" + "---|" * (len(names) + 1)
    for title, values in sets.items():
        cells = [f"{values['log loss'][n]:.4f}" if n in values["log loss"] else "" for n in names]
        yield f"| {title} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of names of sets")
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--groups", help="name of an array of clusters")
    parser.add_argument("--each", action="store_true", help="the log loss of every set too")
    options = parser.parse_args()
    kinds: dict[str, dict[str, Values]] = {"binary": {}, "multiclass": {}}
    for path in sorted(options.folder.glob("*.npz")):
        if not any(fnmatch.fnmatch(path.stem, pattern) for pattern in options.only):
            continue
        rows = read(path, options.groups)
        if rows is None:
            print(f"{path.stem}: passed over, no arrays of the known names", file=sys.stderr)
            continue
        start = time.perf_counter()
        kinds[rows[0].samples.shape][path.stem] = measured(*rows, options.folds)
        print(f"{path.stem}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    for kind, sets in kinds.items():
        if sets:
            print(f"\n{kind}: {len(sets)} sets\n")
            print("\n".join(table(sets)))
            if options.each:
                print("\n" + "\n".join(each_set(sets)))


if __name__ == "__main__":
    main()
