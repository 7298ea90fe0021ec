"""`calibrant certify`: a proved upper bound of a calibration error."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from calibrant._cli import inputs
from calibrant._cli.inputs import SUMMED_FROM
from calibrant._cli.options import CLUSTERS, READS_FILES, add_bins, add_columns, add_files
from calibrant._cli.output import Outcome
from calibrant._cli.parsing import Parser
from calibrant._cli.states import check_no_rows_needed, find_state, load_sums
from calibrant._core.errors import InputError

if TYPE_CHECKING:
    from calibrant.results._certificate import Certificate

DESCRIPTION = (
    "Give a proved upper bound of a calibration error. The error of the population exceeds it with "
    "probability at most 1 - LEVEL, for every population and every number of independent rows. "
    "Exit code 0: done, and the bound is at most --max; 2: it is not; 3: it could not be done. "
    f"{READS_FILES} The bound of a saved state holds however often it is computed."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant certify` to its parser."""
    add_files(parser)
    parser.option("--max LIMIT", "the largest bound that you accept", type=float)
    parser.option("--measure MEASURE", "the measure to bound; default ece", default="ece")
    parser.option(
        "--level LEVEL", "the probability that the bound holds; default 0.999", default=0.999
    )
    parser.option(
        "--sigma SIGMA",
        "the noise width of a smooth error, chosen before looking at the data",
        type=float,
    )
    add_bins(parser)
    add_columns(parser)
    parser.option("--groups COLUMN", f"{CLUSTERS} (patient, day), where rows are not independent")


def run(options: argparse.Namespace) -> Outcome:
    """Compute the certificate of files of rows, or of a saved state."""
    state = find_state(options.files)
    if state is None:
        found, messages = _certify_rows(options)
    else:
        check_no_rows_needed(groups=options.groups)
        _, total = load_sums(state)
        found = total.certify(**inputs.options_by_name(options, "measure", "level", "sigma"))
        messages = ()
    kept = options.max is None or found.upper <= options.max

    def show() -> None:
        """Print whether the limit is certified, the certificate and the messages."""
        from calibrant._cli.file_messages import short_lines
        from calibrant._cli.terminal import print_styled

        files = inputs.format_files(options.files)
        if options.max is not None:
            verdict, style = ("certified", "green") if kept else ("not certified", "yellow")
            print_styled(f"{verdict}, at most {options.max:g}: {files}", f"bold {style}")
        note = (found.note,) if found.note else ()
        for line in (found.sentence, found.method, *short_lines(messages), *note):
            print_styled(f"  {line}", hanging="  ")

    record = {"files": options.files, "max": options.max, "certified": kept}
    about = {**record, "inferred": list(messages)}
    return Outcome(lambda: {**found.to_dict(), **about}, show, 0 if kept else 2)


def _certify_rows(options: argparse.Namespace) -> tuple[Certificate, tuple[str, ...]]:
    """The certificate of files, and messages on what was inferred about them; from sums that are
    made as they are read, if they are large.
    """
    from calibrant._api.certify import certify
    from calibrant._data.readers.read_rows import TooLarge, read_rows

    given = inputs.options_by_name(options, "measure", "level", "sigma")
    try:
        rows = read_rows(inputs.request_of(options, options.files), at_most=SUMMED_FROM)
    except TooLarge:
        cells = getattr(options.bins, "names", None)
        if options.groups is None and options.weight is None and not cells:
            return _certify_sums(options)
        rows = read_rows(inputs.request_of(options, options.files), at_most=40 * SUMMED_FROM)
    found = certify(
        rows.y_true,
        rows.y_proba,
        sample_weight=rows.sample_weight,
        votes=rows.votes,
        classes=rows.class_names,
        groups=inputs.groups_of(rows, options.groups),
        from_logits=options.from_logits,
        bins=inputs.bins_of(rows, options.bins),
        **given,
    )
    return found, tuple(rows.messages)


def _certify_sums(options: argparse.Namespace) -> tuple[Certificate, tuple[str, ...]]:
    """The certificate of files from sums, in little memory, and messages."""
    from calibrant._api.certify import certifiable, fixed_rule
    from calibrant._api.evaluate_samples import Options
    from calibrant._api.files.evaluate_file import evaluate_request
    from calibrant._core.validation import check_level
    from calibrant._data.checks import shape_from_notes
    from calibrant._inference.certificates import certificate

    if isinstance(options.bins, str):
        raise InputError(f"--bins {options.bins} counts the rows, which are too many: give a count")
    rule = fixed_rule(options.bins, None)
    names = (options.measure, "brier")
    result, sums, _ = evaluate_request(
        inputs.request_of(options, options.files), Options(bins=rule, measures=names), fine=True
    )
    chosen = certifiable(options.measure, shape_from_notes(result.inferred))
    level, k = check_level(options.level), sums.summary.n_columns
    found = certificate(chosen, sums.summary, level, k, sigma=options.sigma, bins=str(rule))
    return found, result.inferred
