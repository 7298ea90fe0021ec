"""The command line: parse, call the front door, show."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import textwrap
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from calibrant import TemperatureScaling, __version__, compare, conventions, evaluate, examples
from calibrant.auditing import audit
from calibrant.engines.selection import available, kernels, n_threads, why_not_native
from calibrant.errors import CalibrantError
from calibrant.reproducing import reproduce
from calibrant.show.tables import print_evaluation, print_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it went well, 3 for bad input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        options.run(options)
        sys.stdout.flush()
    except CalibrantError as error:
        print(f"calibrant: {error}", file=sys.stderr)
        return 3
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="calibrant", description="Can these predicted probabilities be believed?"
    )
    parser.add_argument("--version", action="version", version=f"calibrant {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="evaluate the example that comes with Calibrant")
    demo.add_argument("--json", action="store_true", help="print JSON")
    demo.set_defaults(run=_demo)
    reproduce = commands.add_parser("reproduce", help="do a paper's experiments again")
    reproduce.add_argument("paper", metavar="PAPER", help="soft-mean, logit-smoothing or truthful")
    reproduce.add_argument("-o", "--out", help="folder for the page, tables and figures")
    reproduce.add_argument("--data", help="folder of saved predictions (.npz), or a pool's table")
    reproduce.add_argument("--quick", action="store_true", help="fewer replications")
    reproduce.add_argument("--seed", type=int, help="instead of the paper's")
    reproduce.add_argument("--json", action="store_true", help="print JSON")
    reproduce.set_defaults(run=_reproduce)
    audit_ = commands.add_parser("audit", help="put measures' claims to the test")
    audit_.add_argument("measures", nargs="*", metavar="MEASURE", help="names; default all")
    audit_.add_argument("-o", "--out", help="folder for the tables (CSV, JSON, Markdown)")
    audit_.add_argument("--seed", type=int, default=0)
    audit_.add_argument("--json", action="store_true", help="print JSON")
    audit_.set_defaults(run=_audit)
    info = commands.add_parser("info", help="what this installation can do")
    info.add_argument("--json", action="store_true", help="print JSON")
    info.set_defaults(run=_info)
    return parser


def _demo(options: argparse.Namespace) -> None:
    example = examples.load("fashion")
    hard = evaluate(
        example.test_labels, example.test_proba, classes=example.class_names, uncertainty=True
    )
    soft = evaluate(example.test_soft_labels, example.test_proba, classes=example.class_names)
    tools = conventions(example.test_labels, example.test_proba)
    scaler = TemperatureScaling().fit(example.val_labels, example.val_logits)
    models = {
        "as trained": example.test_proba,
        f"scaled by T = {scaler.temperature_:.2f}": scaler.transform(example.test_logits),
    }
    compared = compare(example.test_labels, models)
    if options.json:
        results = (
            ("hard", hard), ("soft", soft), ("conventions", tools), ("comparison", compared),
        )  # fmt: skip
        print(json.dumps({name: result.to_dict() for name, result in results}))
        return
    print(f"{example.description}\n")
    print_evaluation(hard, "The student against the labels")
    columns: dict[str, list[Any]] = {
        "measure": [e.name for e in soft.estimates if e.name in hard],
        "against labels": [hard[e.name] for e in soft.estimates if e.name in hard],
        "against teacher": [e.value for e in soft.estimates if e.name in hard],
    }
    print_table(columns, "Hard labels and the teacher's soft labels side by side")
    print_table(compared.columns(), "Before and after temperature scaling, fitted to other rows")
    print_table(compared.ranked("ece"), "How sure the difference in ece is")
    shown = {k: v for k, v in tools.columns().items() if k.startswith(("tool", "its", "with"))}
    print_table(shown, "What other tools would call ECE (top label)")


def _reproduce(options: argparse.Namespace) -> None:
    done = reproduce(
        options.paper, out=options.out, data=options.data, quick=options.quick, seed=options.seed,
        progress=not options.json,
    )  # fmt: skip
    if options.json:
        print(json.dumps(done.to_dict()))
        return
    print(f"{done.title}: {done.paper}\n")
    for section in done.sections:
        print(f"{section.heading}\n")
        for paragraph in section.paragraphs:
            print("\n".join(textwrap.wrap(paragraph, 100)) + "\n")
        for table in section.tables:
            if table.on_page:
                print_table(table.columns, table.caption)
    for erratum in done.errata:
        print(f"Erratum {erratum.number}, {erratum.where}: {erratum.paper} -> {erratum.found}")
    if options.out is not None:
        print(f"\nWritten: {options.out}/index.html, with tables and figures beside it")


def _audit(options: argparse.Namespace) -> None:
    found = audit(options.measures or None, seed=options.seed)
    if options.out is not None:
        found.save(options.out)
    print(found.to_json() if options.json else found)


def _info(options: argparse.Namespace) -> None:
    facts = installation()
    if options.json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        print(f"{name:12} {value}")
    if not facts["native"]:
        print(
            "\nThe compiled kernels are not there, so everything runs on NumPy: the same numbers, "
            f"several times slower.\nReason: {why_not_native}\n"
            "To get them, install a C compiler and reinstall calibrant."
        )


def installation() -> dict[str, Any]:
    """What this installation is and can do."""
    return {
        "calibrant": __version__,
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "scipy": metadata.version("scipy"),
        "narwhals": metadata.version("narwhals"),
        "engine": kernels().name,
        "native": "native" in available(),
        "threads": n_threads(),
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
