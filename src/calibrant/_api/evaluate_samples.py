"""evaluate_samples(): the one evaluation of validated rows that every public function makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from calibrant._api.curve_of_rows import reliability_table
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, LevelSets, Quantile, Rule, both_rules, equal_mass_rule
from calibrant._core.errors import InputError, NotDefined, check_some_left, counted
from calibrant._core.messages import EXCLUDED, about_measures, find_note, setting
from calibrant._core.validation import N_RESAMPLES, check_level, check_resample, check_resamples
from calibrant._data.samples import Samples
from calibrant._data.source import Source
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._inference.budget import FULL_CLASSES, MOST_SUBGROUPS
from calibrant._measures.binned import binned_errors
from calibrant._measures.catalogue import (
    OF_LOGARITHMS,
    OWN_BINS,
    Measure,
    Shape,
    catalogue,
    equal_mass_names,
    find,
)
from calibrant._measures.gap_scale import checked_tolerance
from calibrant._measures.smooth import LS_SIGMA
from calibrant._measures.statistics import Statistics
from calibrant._measures.truthful import linear_errors
from calibrant._summaries.samples import SourceStatistics, Summary
from calibrant.results._clinical import ClinicalSummary
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._reliability import ReliabilityTable

LONG_FULL = (
    "lin_ce: not computed, because full calibration with this many classes takes long; name it to "
    "get it"
)

Intervals = Literal["none", "cheap", "all"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The user's options of an evaluation: measures, bins, intervals, slices and segments."""

    bins: Bins = 15
    measures: Iterable[str] | None = None
    # Which measures have intervals and noise floors: none, those that take about a second, or all.
    # Measures that were asked for by name have them either way; without names, "all" does without
    # the few that take minutes.
    intervals: Intervals = "none"
    tolerance: float = 0.05
    level: float = 0.95
    # The cluster of each row as a number (see `group_index`), or a lazy frame's column of clusters.
    groups: Any = None
    # What intervals draw anew: rows, votes or both; None for what the labels allow.
    resample: str | None = None
    n_resamples: int = N_RESAMPLES
    seed: int = 0
    # What to slice by: columns of `data`, or a value for each row.
    by: Any = None
    data: Any = None
    # Columns to search for segments, and how many of them are crossed at most.
    segments: Any = None
    depth: int = 2
    # Whether binary outcomes have a clinical summary, where no measures are named.
    clinical: bool = False

    def __post_init__(self) -> None:
        """Raise an InputError for a tolerance out of range, and make it a float."""
        object.__setattr__(self, "tolerance", checked_tolerance(self.tolerance))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers of an evaluation come from: recipe, bins and notes of their source.

    A source is memory, a frame, files or a stream.
    """

    # The options that give the same numbers again; "n_missing" is how many rows were dropped.
    recipe: dict[str, Any]
    # The rule behind each statistic or measure (see `rule_names`).
    rules: dict[str, str]
    # What the input was taken for.
    inferred: tuple[str, ...]
    # Notes on the rows, and on measures that are left out or otherwise computed here.
    row_notes: tuple[str, ...] = ()
    measure_notes: tuple[str, ...] = ()


def evaluate_samples(samples: Samples | TensorSamples, options: Options) -> Evaluation:
    """Evaluate validated rows, with the intervals, slices and segments that `options` ask for."""
    check_some_left(samples.n)
    asked = options.measures is not None
    fixed, quantile = both_rules(options.bins, samples.n, cells=options.by is None)
    summary = Summary(samples, fixed, quantile, together=not asked)
    chosen = choose_measures(options.measures, samples.shape)
    reliability = reliability_table(summary)
    notes = equal_mass_note(chosen, quantile)
    if not asked:
        applicable = tuple(
            m for m in chosen if _is_shown_by_default(m, samples, quantile, summary.findings.soft)
        )
        if any(m not in applicable for m in chosen if m.statistic == "full_bins"):
            notes += (about_measures(LONG_FULL, ("lin_ce",)),)
        chosen = applicable
    provenance = Provenance(
        recipe=recipe_of(samples, (fixed, quantile), samples.n, samples.n_missing),
        rules=rule_names(fixed, quantile),
        inferred=describe_input(samples, summary.findings),
        measure_notes=notes,
    )
    result = assemble(summary, chosen, reliability, provenance, samples, everything=not asked)
    asks_rows = any(given is not None for given in (options.groups, options.by, options.segments))
    if options.intervals == "none" and not asks_rows:
        return result
    assert isinstance(samples, Samples)  # what follows reads the rows again
    return _add_row_results(result, samples, (fixed, quantile), chosen, options)


def recipe_of(source: Source, rules: tuple[Rule, Rule], n: int, n_missing: int) -> dict[str, Any]:
    """The options that give the same numbers again for rows in memory or in a frame, by name.

    `rules` are the fixed bins and the quantile bins.
    """
    return {
        "n": n,
        "n_classes": source.n_classes,
        "bins": str(rules[0]),
        "truthful_bins": str(rules[1]),
        "from_logits": source.from_logits,
        "weighted": source.weighted,
        "n_missing": n_missing,
    }


def _add_row_results(
    result: Evaluation,
    samples: Samples,
    rules: tuple[Rule, Rule],
    chosen: tuple[Measure, ...],
    options: Options,
) -> Evaluation:
    """The evaluation with the results that need the rows, as far as `options` ask for them.

    These are intervals, clusters, slices, segments and the clinical summary. `rules` are the fixed
    bins and the quantile bins, `chosen` the measures of the evaluation.
    """
    # Imported when it is asked for: most calls do without resampling.
    from calibrant._api.evaluate_uncertainty import (
        add_uncertainty,
        cheap_measures,
        with_cluster_bars,
    )
    from calibrant._api.resampling import Resampling
    from calibrant._api.slices import slices_of_samples

    asked, groups = options.measures is not None, options.groups
    resample = check_resample(options.resample, samples.votes)
    resampling, tolerance = Resampling(rules=rules, seed=options.seed, groups=groups), None
    if options.intervals == "cheap" and not asked:
        chosen, asked = cheap_measures(samples, groups), True
    if options.intervals != "none":
        check_resamples(options.n_resamples, options.seed)
        level, draws = check_level(options.level), int(options.n_resamples)
        resampling = replace(resampling, level=level, n_resamples=draws, seed=int(options.seed))
        tolerance = options.tolerance
        result = add_uncertainty(
            result,
            replace(resampling, resample=resample).uncertainty(
                samples, tuple(m for m in chosen if m.name in result)
            ),
            tolerance,
            asked=asked,
            clinical=samples.votes is None and _wants_clinical(samples, options),
        )
    if groups is not None:
        result = replace(result, reliability=with_cluster_bars(result.reliability, samples, groups))
    if options.by is not None:
        by, data = options.by, options.data
        slices = slices_of_samples(
            samples, by, data, chosen, resampling, asked=asked, tolerance=tolerance
        )
        result = replace(result, slices=slices)
    if options.segments is not None:
        from calibrant._api.find_segments import segments_of_samples

        found = segments_of_samples(
            samples, options.segments, options.data, groups, options.depth, int(options.seed)
        )
        result = replace(result, segments=found)
    if _wants_clinical(samples, options):
        result = replace(result, clinical=_clinical_summary(samples, options, result.clinical))
    return result


def _wants_clinical(samples: Samples, options: Options) -> bool:
    """Whether a clinical summary is wanted: asked for, no measures named, binary outcomes."""
    return options.clinical and options.measures is None and not samples.multiclass


def _clinical_summary(
    samples: Samples, options: Options, plain: ClinicalSummary | None
) -> ClinicalSummary:
    """The clinical summary of all rows, with those of slices up to MOST_SUBGROUPS.

    `plain` is the summary of all rows; None if it is yet to be computed.
    """
    from calibrant._api.clinical import summary_of, with_subgroups

    groups, given = options.groups, (int(options.n_resamples), int(options.seed))
    if plain is None:
        plain = summary_of(samples, groups, float(options.level), *given)
    if options.by is None:
        return plain
    by, data = options.by, options.data
    return with_subgroups(plain, samples, by, data, groups, *given, MOST_SUBGROUPS)


def _is_shown_by_default(measure: Measure, samples: Source, rule: Rule, soft: bool) -> bool:
    """Whether a measure is shown by default, that is, where the user named none.

    Full calibration is hidden with many classes and with bins by rank, measures of soft labels if
    all labels are hard. `rule` is that of the quantile bins; `soft` says whether some labels are
    soft.
    """
    if measure.statistic == "full_bins":
        ranked = isinstance(rule, Quantile) and rule.ties == "rank"
        return samples.n_classes <= FULL_CLASSES and not ranked
    return soft or not measure.soft_only


def choose_measures(measures: Iterable[str] | None, shape: Shape) -> tuple[Measure, ...]:
    """The catalogue's measures of these names, each once.

    None gives all that apply to predictions of this shape, except those computed only on request.
    """
    if measures is None:
        return tuple(m for m in catalogue(shape) if not m.on_request)
    if isinstance(measures, str):
        raise InputError(f"measures must be a list of names; got the text {measures!r}")
    return tuple(dict.fromkeys(find(name, shape) for name in measures))


def assemble(
    summary: SourceStatistics,
    chosen: tuple[Measure, ...],
    reliability: ReliabilityTable,
    provenance: Provenance,
    source: Source | None,
    *,
    everything: bool,
) -> Evaluation:
    """Put together an Evaluation from the statistics of rows, whatever their source.

    With `everything`, no measures were named: a measure that has no value for these data is dropped
    with a note, and the result has a row for each class of a multiclass `source`. Otherwise such a
    measure raises NotDefined. The `source` is None if there are no rows to describe.
    """
    estimates: list[Estimate] = []
    undefined: dict[str, list[str]] = {}
    for measure in chosen:
        try:
            bins = bins_of(measure, provenance.rules)
            estimates.append(estimate_of(measure, summary, summary.scalar, bins))
        except NotDefined as error:
            if not everything:
                raise type(error)(f"the measure {measure.name!r} has no value: {error}") from None
            undefined.setdefault(str(error), []).append(measure.name)
    classes = None
    if source is not None and source.multiclass and everything:
        truthful = any(measure.statistic == "class_quantile_bins" for measure in chosen)
        classes = class_columns(source, summary, with_truthful=truthful)
    # Notes come last: computing an estimate may add to the findings.
    n_missing = provenance.recipe["n_missing"]
    notes = (
        *provenance.row_notes,
        *missing_notes(n_missing, provenance.inferred),
        *notes_of(
            summary.findings,
            reliability.table,
            summary.n_logits_clipped,
            measures=[each.name for each in estimates],
        ),
        *provenance.measure_notes,
        *(f"{', '.join(names)}: not computed, {why}" for why, names in undefined.items()),
    )
    return Evaluation(
        estimates=tuple(estimates),
        reliability=reliability,
        classes=classes,
        inferred=provenance.inferred,
        notes=notes,
        recipe=provenance.recipe,
    )


def estimate_of(measure: Measure, statistics: Statistics, scalar: str, bins: str) -> Estimate:
    """The value of one measure, with its title, its notion and its `bins` in words.

    `scalar` is the notion of the scalar problem, "binary" or "confidence".
    """
    return Estimate(
        measure.name,
        measure.compute(statistics),
        measure.title,
        scalar if measure.notion == "scalar" else measure.notion,
        bins,
        measure.claims.truthful,
        measure.higher_is_better,
    )


def bins_of(measure: Measure, rules: dict[str, str]) -> str:
    """The bins of a measure in words, from the results of `rule_names`; "" without bins."""
    return rules.get(measure.name, rules.get(measure.statistic, "")) if measure.needs_order else ""


def rule_names(fixed: Rule, quantile: Rule) -> dict[str, str]:
    """The bins behind each statistic in words, as a dict from the statistic's name.

    Measures that always have bins of equal mass have entries by their own names. `fixed` and
    `quantile` are the rules of the ordinary and of the truthful measures.
    """
    return {
        **dict.fromkeys(equal_mass_names(), str(equal_mass_rule(quantile))),
        "bins": str(fixed),
        "bins_and_distances": str(fixed),
        "class_bins": str(fixed),
        "confidence_by_class": f"top class x {fixed}",
        "quantile_bins": str(quantile),
        "class_quantile_bins": str(quantile),
        "confidence_bins": str(quantile),
        "full_bins": f"top class x {quantile}",
        "levels": str(LevelSets()),
        **OWN_BINS,
        "logit_grid": f"Gaussian noise, sigma {LS_SIGMA:g}",
        "smooth": "bandwidth at its fixed point",
    }


def class_columns(
    samples: Source, summary: Statistics, *, with_truthful: bool
) -> dict[str, list[Any]]:
    """The table of classes, as columns by name: a row for each class, the largest error first.

    The columns are "class", "mean_predicted", "mean_target", "ece" and, `with_truthful`, "lin_ce",
    which needs quantile bins of each class: not every summary has them.
    """
    bins = summary.class_bins
    weight = bins.total_weight
    errors = binned_errors(bins)
    names = samples.class_names or tuple(str(r) for r in range(bins.n_classes))
    order = (-errors).argsort(kind="stable")
    columns = {
        "mean_predicted": bins.sum_wu.sum(axis=1) / weight,
        "mean_target": bins.sum_wz.sum(axis=1) / weight,
        "ece": errors,
    }
    if with_truthful:
        columns["lin_ce"] = linear_errors(summary.class_quantile_bins)
    out: dict[str, list[Any]] = {"class": [names[r] for r in order]}
    out.update({name: values[order].tolist() for name, values in columns.items()})
    return out


def describe_input(samples: Source, findings: Findings) -> tuple[str, ...]:
    """Sentences on what the input was taken for, such as hard or soft labels."""
    if samples.multiclass and not samples.soft_rows:
        return samples.inferred
    kind = "soft (probabilities)" if findings.soft else "hard (0 or 1)"
    return (*samples.inferred, f"labels are {kind}")


def notes_of(
    findings: Findings, table: BinTable, n_logits_clipped: int = 0, *, measures: Iterable[str]
) -> tuple[str, ...]:
    """Notes on predictions that were clipped, row sums that were tolerated, and rows in no bin.

    Of predictions that were clipped for a logarithm they speak only if one of the `measures`, which
    are names, has one.
    """
    notes = []
    if findings.n_predictions_clipped:
        notes.append(
            f"{findings.n_predictions_clipped:,} predictions outside [0, 1] by at most 1e-4 were "
            "clipped"
        )
    off = findings.n_rows_off_simplex
    if off:
        sums = "sums" if off == 1 else "sum"
        notes.append(f"{counted(off, 'row')} of y_proba {sums} to 1 only within rounding tolerance")
    clipped_for = {name: OF_LOGARITHMS[name] for name in measures if name in OF_LOGARITHMS}
    if findings.n_log_clipped and clipped_for:
        n = findings.n_log_clipped
        text = (
            f"{counted(n, 'prediction')} below 1e-12 for the observed class "
            f"{'was' if n == 1 else 'were'} clipped to 1e-12 for "
            f"{' and '.join(clipped_for.values())}"
        )
        notes.append(about_measures(text, clipped_for))
    if n_logits_clipped:
        text = (
            f"{counted(n_logits_clipped, 'prediction')} "
            f"{'was' if n_logits_clipped == 1 else 'were'} clipped to [1e-6, 1 - 1e-6] (logits to "
            "[-40, 40]) for the logit-smoothed error"
        )
        notes.append(about_measures(text, ("ls_ece",)))
    if table.n_dropped:
        some = (
            "prediction of exactly 1 is" if table.n_dropped == 1 else "predictions of exactly 1 are"
        )
        notes.append(f"{table.n_dropped:,} {some} in no bin (drop_one)")
    return tuple(notes)


def equal_mass_note(chosen: Iterable[Measure], rule: Rule) -> tuple[str, ...]:
    """A note on measures that use bins of equal mass although `rule` is another; () without any."""
    names = [measure.name for measure in chosen if measure.equal_mass]
    own = equal_mass_rule(rule)
    if not names or own == rule:
        return ()
    are, use = ("is", "uses") if len(names) == 1 else ("are", "use")
    return (f"{' and '.join(names)} {are} defined by bins of equal mass and {use} {own}",)


def missing_notes(n_missing: int, messages: Iterable[str]) -> tuple[str, ...]:
    """The note on rows that were dropped because a value was missing; () without any.

    Answers without a confidence that a rule dropped are not among them: of these one of the
    `messages` on what was read speaks.
    """
    excluded = find_note(messages, EXCLUDED)
    rest = n_missing - (excluded.values["n"] if excluded is not None else 0)
    return (missing_note(rest),) if rest > 0 else ()


def missing_note(n_missing: int) -> str:
    """The note on rows that were dropped because a value was missing."""
    rows = "1 row was" if n_missing == 1 else f"{n_missing:,} rows were"
    return (
        f"{rows} dropped because a prediction, label or weight was missing "
        f"({setting('missing', 'drop')})"
    )
