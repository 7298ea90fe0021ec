"""Columns that rows are divided by, and the sums of every combination of their values, by queries.

Rows never come here: of a column its distinct values, or the ends and quantiles of its numbers; and
of all columns together the sums of each combination that occurs.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._data.segment_columns import SegmentColumn, SegmentRule, rule_of_counts, rule_of_cuts
from calibrant._engines.frames.collecting import collected, one_row
from calibrant._engines.frames.columns import column_value
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    any_of,
    col,
    exact,
    number,
    total,
    where,
)
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.query import Query

# The most distinct values of a column that are brought here.
MOST_DISTINCT = 1 << 16
# The most combinations of values whose sums are brought here.
MOST_CELLS = 1 << 20
# Columns' values are packed into whole numbers up to this, which doubles hold exactly.
MOST_PACKED = 2**52


def segment_rules(samples: FrameSamples, names: tuple[str, ...], parts: int) -> list[SegmentRule]:
    """The rules that turn each named column into segments (numbered groups of its values), from
    queries about the column. Numbers with many distinct values are cut into `parts` ranges.
    """
    return [_segment_rule(samples, name, parts) for name in names]


def _segment_rule(samples: FrameSamples, name: str, parts: int) -> SegmentRule:
    """The rule that turns one column into numbered segments; InputError if it has too many distinct
    values that are not numbers.
    """
    value = column_value(samples, name)
    counts = samples.frame.select(v=value).group_by("v").agg(n=nw.len()).head(MOST_DISTINCT + 1)
    found = collected(counts)
    values, rows = found["v"].to_list(), found["n"].to_list()
    if len(values) <= MOST_DISTINCT:
        return rule_of_counts(name, values, rows, parts)
    if not samples.frame.collect_schema()[name].is_numeric():
        raise InputError(
            f"segments: the column {name!r} has more than {MOST_DISTINCT:,} distinct values; "
            "choose a coarser column, or collect the frame"
        )
    return _rule_of_many_numbers(samples, name, parts)


def _rule_of_many_numbers(samples: FrameSamples, name: str, parts: int) -> SegmentRule:
    """The rule for a column with very many distinct numbers: segments lie between the engine's
    quantiles.

    A quantile is cut at the lower of the two neighbouring values around it. The engine's quantile
    is rounded, so a query finds the values on either side of it, and the number of rows up to each.
    """
    x = col("v")
    known = samples.frame.select(v=column_value(samples, name).cast(Float64))
    known = known.filter(~(x.is_null() | samples.is_nan(x)))
    shares = np.arange(1, parts) / parts
    asked = {f"q{j}": x.quantile(float(q), interpolation="linear") for j, q in enumerate(shares)}
    first = one_row(known.select(n=nw.len(), low=x.min(), high=x.max(), **asked))
    between = [first[f"q{j}"] for j in range(shares.size)]
    near: dict[str, Expr] = {}
    for j, q in enumerate(between):
        near |= {
            f"a{j}": nw.when(x <= exact(q)).then(x).max(),
            f"b{j}": nw.when(x > exact(q)).then(x).min(),
        }
    ends = one_row(known.select(**near))
    above = {
        f"{end}{j}": number(x <= exact(ends[f"{end}{j}"])).sum()
        for j in range(shares.size)
        for end in "ab"
        if ends[f"{end}{j}"] is not None
    }
    through = one_row(known.select(**above))
    ranks = np.floor((first["n"] - 1) * shares)
    cuts = []
    for j, rank in enumerate(ranks):
        ab = [end for end in "ab" if ends[f"{end}{j}"] is not None]
        enough = [end for end in ab if through[f"{end}{j}"] > rank]
        cuts.append(float(ends[f"{(enough or ab)[0]}{j}"]))
    n_rows = one_row(samples.frame.select(n=nw.len()))["n"]
    some_missing = n_rows > first["n"]
    return rule_of_cuts(name, first["low"], np.array(cuts), first["high"], some_missing)


def cell_sums(
    samples: FrameSamples, notion: Notion, rules: list[SegmentRule]
) -> tuple[Groups, list[SegmentColumn]]:
    """The sums of every combination of segments, one of each column, by one query; and each column
    with the number of its segment in every combination.

    Beside the fields of bins there are sums, with squared weights, of `spread`, u (1 - u), the
    variance of a label if its prediction u is right, and of `seen`, the squared difference of
    prediction and target.
    """
    names = tuple(rule.name for rule in rules)
    query = Query(samples, notion, by=names).add_fields()
    u, z = col("u"), col("z")
    query.sums["spread"] = query.weigh(query.weigh(u * (1.0 - u)))
    query.sums["seen"] = query.weigh(query.weigh((u - z) * (u - z)))
    schema = samples.frame.collect_schema()
    as_given = _grouped_as_given(rules)
    packs = _pack_columns(rules, as_given)
    packed = {}
    for k, pack in enumerate(packs):
        codes = [
            _segment_number(samples, col(f"by{j}"), rules[j], schema[names[j]]) * float(f)
            for j, f in pack
        ]
        packed[f"pack{k}"] = total(codes).cast(nw.Int64)
    # Rows are grouped by packed numbers in place of the columns' own values.
    query.frame = query.frame.with_columns(
        **packed, **{f"own{k}": col(f"by{j}") for k, j in enumerate(as_given)}
    )
    keys = [*packed, *(f"own{k}" for k in range(len(as_given)))]
    query.frame = query.frame.with_columns(**{f"by{k}": col(key) for k, key in enumerate(keys)})
    query.by = keys
    groups = query.grouped(nw.lit(0.0), MOST_CELLS + 1)
    if groups["rows"].size > MOST_CELLS:
        raise InputError(
            f"segments: the {len(names)} columns have more than {MOST_CELLS:,} combinations of "
            "values, too many to collect their sums: search fewer columns at a time, give fewer "
            "parts, or collect the frame"
        )
    groups.check_rows()
    numbers: list[Index] = [np.zeros(0, dtype=np.intp)] * len(rules)
    for k, pack in enumerate(packs):
        left = groups.columns[f"by{k}"].astype(np.int64)
        for j, factor in reversed(pack):
            found, left = np.divmod(left, factor)
            numbers[j] = found.astype(np.intp)
    for k, j in enumerate(as_given, start=len(packs)):
        numbers[j] = _numbers_of_values(groups.columns[f"by{k}"], rules[j])
    # Values of one segment were grouped apart.
    groups, first = groups.joined(np.lexsort(numbers), numbers)
    return groups, [rule.column(codes[first]) for rule, codes in zip(rules, numbers, strict=True)]


def _grouped_as_given(rules: list[SegmentRule]) -> list[int]:
    """The positions of the columns whose own values rows are grouped by, to be numbered here: an
    engine does that sooner than it compares each row with every value. Columns with the most values
    are left out until no more than MOST_CELLS combinations are possible.
    """
    sizes = {
        j: len(rule.codes) + rule.n_others + 1
        for j, rule in enumerate(rules)
        if rule.cuts is None and rule.codes
    }
    while sizes:
        others = [len(rule.labels) + 1 for j, rule in enumerate(rules) if j not in sizes]
        if math.prod([*sizes.values(), *others]) <= MOST_CELLS:
            break
        del sizes[max(sizes, key=lambda j: sizes[j])]
    return list(sizes)


def _numbers_of_values(values: NDArray[Any], rule: SegmentRule) -> Index:
    """The number of the segment of each value, by the rule; InputError for a value that was not
    there when the rule was made.
    """
    known = {value: rule.code(value) for value in set(values.tolist())}
    if min(known.values(), default=0) < 0:
        raise InputError(
            f"the data changed while they were read: the column {rule.name!r} has new values. "
            "Measure a copy that no process writes to"
        )
    return np.array([known[value] for value in values.tolist()], dtype=np.intp)


def _pack_columns(rules: list[SegmentRule], as_given: list[int]) -> list[list[tuple[int, int]]]:
    """Sets of columns whose segment numbers are packed into one whole number each, to group rows by
    fewer keys: of all columns but those that are grouped by `as_given`.

    A set is a list of pairs: a column's position in `rules`, and the factor of its segment number
    in the packed number.
    """
    packs: list[list[tuple[int, int]]] = [[]]
    size = 1
    for j, rule in enumerate(rules):
        if j in as_given:
            continue
        n_labels = max(1, len(rule.labels))  # none where there is no row
        if size * n_labels > MOST_PACKED and packs[-1]:
            packs.append([])
            size = 1
        packs[-1].append((j, size))
        size *= n_labels
    return packs if packs[0] else []


def _segment_number(samples: FrameSamples, x: Expr, rule: SegmentRule, kind: Any) -> Expr:
    """The number of the segment that the rule assigns to a value x of a column of type `kind`, as
    an expression of type double.
    """
    text = not kind.is_numeric()
    absent = [x.is_null()]
    if kind.is_float():
        absent.append(samples.is_nan(x))
    if isinstance(kind, nw.String | nw.Categorical | nw.Enum):
        x = x.cast(nw.String)
        absent.append((x == "").fill_null(False))
    if rule.cuts is not None:
        value = where(any_of(absent), None, x) if text else x
        steps = [number(value.cast(Float64) >= exact(cut)) for cut in rule.cuts]
        inner = total(steps) if steps else nw.lit(0.0)
    else:
        base = rule.others or 0
        hits = [
            number(x == _literal(value)) * float(code - base)
            for value, code in rule.codes.items()
            if code != base
        ]
        inner = total([*hits, nw.lit(float(base))])
    if rule.missing is None:
        return inner
    return where(any_of(absent), float(rule.missing), inner)


def _literal(value: Any) -> Any:
    """A value (text or number) as a literal that engines read exactly."""
    return exact(value) if isinstance(value, float) else nw.lit(value)
