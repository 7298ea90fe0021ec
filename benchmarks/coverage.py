"""Coverage, sharpness and power of intervals in worlds whose truth is known.

    python benchmarks/coverage.py                          every line, of one predictor and of pairs
    python benchmarks/coverage.py [KIND ...] [--world NAME ...] [--measures ece ...]
        [--rows 300 1000] [--reps 200] [--pairs | --singles] [--csv FILE] [--jobs 2]
    python benchmarks/coverage.py --tests [KIND ...] [--world NAME ...]
    python benchmarks/coverage.py --list

Prints one line for each world, number of rows and measure:

    truth       the measure, or the difference of two predictors, in the whole population
    coverage    share of samples whose 95 % interval contains the truth, its standard error, and how
                many intervals lie wholly below / above the truth
    ratio       mean width of the interval / 95 % span of the estimator over fresh samples:
                1.0 to 1.3 is sharp, 2 and more is a bound
    power       share of intervals that exclude 0; where the truth is 0, wrong decisions
    oracle      the same for limits by the simulated law of the estimator about the truth
    bootstrap   coverage and power of percentiles of a plain (paired) bootstrap

and the command that measures this line alone. With --tests: false alarms of p-values and verdicts
where predictions are right, power of verdicts and of Cox's test where they are not, and the rows
for 80 % power. Samples are the same in every run.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TextIO

from known_truth.lines import N_LAW, N_PLAIN, Line, measures_of, run_lines
from known_truth.pairs import ALL_KINDS, WORLDS
from known_truth.verdicts import GRID, Power, false_alarms, power_of, rows_for
from known_truth.worlds import KINDS, world_name

Mapped = Callable[..., Iterable[Any]]
FIELDS = (
    "world", "measure", "rows", "reps", "pairs", "truth", "coverage", "standard_error", "below",
    "above", "ratio", "width", "span", "power", "oracle_power", "bootstrap_coverage",
    "bootstrap_power", "command",
)  # fmt: skip
HEADER = (
    f"{'world':38s} {'rows':>6s} {'measure':16s} {'truth':>9s}  {'coverage':14s} {'ratio':>6s} "
    f"{'width':>8s} {'power':>6s} {'oracle':>6s}  bootstrap  command"
)


@contextmanager
def workers(jobs: int) -> Iterator[Mapped]:
    """A map over processes, or the plain one for a single job."""
    if jobs == 1:
        yield map
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield pool.map


def share(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.0f}"


def printed(line: Line) -> str:
    """A line of the table."""
    covers = f"{share(line.coverage)}±{share(line.standard_error)} ({line.below}/{line.above})"
    plain = f"{share(line.bootstrap_coverage)} / {share(line.bootstrap_power)}"
    ratio = "-" if math.isnan(line.ratio) else f"{line.ratio:.2f}"
    return (
        f"{line.world:38s} {line.rows:6d} {line.measure:16s} {line.truth:9.3g}  {covers:14s} "
        f"{ratio:>6s} {line.width:8.2g} {share(line.power):>6s} {share(line.oracle_power):>6s}  "
        f"{plain:9s}  {line.command}"
    )


def chosen_worlds(options: argparse.Namespace) -> list[str]:
    """The worlds of the kinds and names given, those of pairs or of one predictor where asked."""
    every = [
        (kind, world_name(ALL_KINDS, kind, name))
        for kind, worlds in ALL_KINDS.items()
        for name in worlds
    ]
    named = options.kinds or options.world
    unknown = {*options.kinds} - {*ALL_KINDS} | {*options.world} - {*WORLDS}
    if unknown:
        sys.exit(f"no such world: {', '.join(sorted(unknown))}; --list prints all of them")
    chosen = [
        name for kind, name in every if not named or kind in options.kinds or name in options.world
    ]
    # A pair that is named with --singles is measured by its first predictor.
    return [
        name for name in chosen
        if not (options.pairs and not WORLDS[name].pair)
        and not (options.singles and not named and WORLDS[name].pair)
    ]  # fmt: skip


def print_lines(options: argparse.Namespace, mapped: Mapped, writer: Any) -> None:
    print(HEADER)
    for world in chosen_worlds(options):
        population = WORLDS[world]
        if not measures_of(population, options.measures):
            continue
        for n in options.rows or population.rows:
            lines = run_lines(
                world, options.measures, n, options.reps, law=options.law, jobs=options.jobs,
                pairs=False if options.singles else None, mapped=mapped,
                bootstrap=options.bootstrap if population.pair and not options.singles else 0,
            )  # fmt: skip
            for line in lines:
                print(printed(line), flush=True)
                writer([getattr(line, field) for field in FIELDS])


def print_tests(options: argparse.Namespace, mapped: Mapped, writer: Any) -> None:
    for world in chosen_worlds(options):
        population = WORLDS[world]
        if population.pair or population.labels == "exact" or population.n_classes > 1:
            continue
        if population.calibrated:
            for n in options.rows or (300, 1000):
                alarms = false_alarms(world, n, options.reps)
                text = "  ".join(f"{test} {alarm:.1%}" for test, alarm in alarms.items())
                error = math.sqrt(0.05 * 0.95 / options.reps)
                print(f"{world}, {n} rows: {text}  (±{error:.1%} at 5 %)", flush=True)
                write_tests(world, n, options.reps, alarms, writer)
        elif world in KINDS["power"] or options.world:
            print_power(world, options, mapped, writer)


def test_command(world: str, n: int, reps: int) -> str:
    return f'python benchmarks/coverage.py --tests --world "{world}" --rows {n} --reps {reps}'


def write_tests(
    world: str, n: int, reps: int, shares: Mapping[str, float], writer: Callable[..., None]
) -> None:
    """A row for each test, whose power is the share of samples that it calls miscalibrated."""
    for test, value in shares.items():
        row = {"world": world, "measure": test, "rows": n, "reps": reps, "power": value}
        row["command"] = test_command(world, n, reps)
        writer([row.get(field, "") for field in FIELDS])


def print_power(world: str, options: argparse.Namespace, mapped: Mapped, writer: Any) -> None:
    found: list[Power] = []
    for n in options.rows or GRID:
        found.append(power_of(world, n, options.reps, jobs=options.jobs, mapped=mapped))
        power = found[-1]
        print(
            f"{world}, {n} rows: verdict {power.verdict:.0%}, Cox {power.cox:.0%}  "
            f"{test_command(world, n, options.reps)}",
            flush=True,
        )
        write_tests(world, n, options.reps, {"verdict": power.verdict, "cox": power.cox}, writer)
    if len(found) > 1:
        needed = {test: rows_for(found, test) for test in ("verdict", "cox")}
        text = ", ".join(
            f"{test} more than {found[-1].rows}" if math.isnan(n) else f"{test} {n:.0f}"
            for test, n in needed.items()
        )
        print(f"{world}: rows for 80 % power: {text}", flush=True)


def print_worlds() -> None:
    for kind, worlds in ALL_KINDS.items():
        print(kind)
        for name, world in worlds.items():
            rows = " ".join(map(str, world.rows))
            print(f"    {world_name(ALL_KINDS, kind, name):40s} rows {rows}")


def csv_writer(file: TextIO | None) -> Callable[[Sequence[Any]], None]:
    if file is None:
        return lambda row: None
    out = csv.writer(file)
    out.writerow(FIELDS)

    def write(row: Sequence[Any]) -> None:
        out.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
        file.flush()

    return write


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"one of {', '.join(ALL_KINDS)}")
    parser.add_argument(
        "--world", action="append", default=[], help="a world by its name; may be repeated"
    )
    parser.add_argument("--measures", nargs="+", help="default: those of the world")
    parser.add_argument("--rows", type=int, nargs="+", help="default: those of the world")
    parser.add_argument("--reps", type=int, default=200, help="samples for each line")
    parser.add_argument("--law", type=int, default=N_LAW, help="samples for the estimator's law")
    parser.add_argument("--bootstrap", type=int, default=N_PLAIN, help="plain resamples of a pair")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--pairs", action="store_true", help="differences only")
    which.add_argument("--singles", action="store_true", help="intervals of one predictor only")
    parser.add_argument("--tests", action="store_true", help="false alarms and power of verdicts")
    parser.add_argument("--list", action="store_true", help="print the worlds")
    parser.add_argument("--csv", help="write the lines to this file, too")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser


def main() -> None:
    options = arguments().parse_args()
    if options.list:
        print_worlds()
        return
    table = print_tests if options.tests else print_lines
    with workers(options.jobs) as mapped:
        if options.csv is None:
            table(options, mapped, csv_writer(None))
            return
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            table(options, mapped, csv_writer(file))


if __name__ == "__main__":
    main()
