"""`calibrant demo`: the example that comes with Calibrant, from evaluation to recalibration."""

from __future__ import annotations

import argparse
from typing import Any

from calibrant.cli.output import print_json
from calibrant.cli.parsing import add_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="evaluate the example that comes with Calibrant",
        description="Evaluate the example that comes with Calibrant: a student network, its "
        "labels and its teacher's probabilities.",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant import TemperatureScaling, compare, conventions, evaluate, examples
    from calibrant.show.tables import print_evaluation, print_table

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
        print_json({name: result.to_dict() for name, result in results})
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
