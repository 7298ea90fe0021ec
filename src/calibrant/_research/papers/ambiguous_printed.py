"""What Tao et al. (2026) print for the two benchmarks with real votes, and what is not right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from calibrant._research.papers.folder import Erratum


class Printed(NamedTuple):
    """One method on one network: temperature, true-label ECE in percent, Brier score, log loss."""

    temperature: float | None
    ece: float
    brier: float
    log_loss: float


# By number of classes: the benchmark, and its two networks.
BENCHMARKS: Mapping[int, tuple[str, tuple[str, str]]] = {
    10: ("CIFAR-10H", ("ResNet-50", "ViT-B/16")),
    3: ("ChaosNLI", ("RoBERTa-Large", "DeBERTa-v3")),
}


def _read_printed(text: str) -> dict[str, tuple[Printed, Printed]]:
    """Read the printed numbers of each method on two networks, by the method's name.

    A line of the text is "name | eight numbers": four for each network, in the order of `Printed`,
    with "-" for None.
    """
    table = {}
    for line in text.strip().splitlines():
        name, cells = line.split("|")
        numbers = [None if cell == "-" else float(cell) for cell in cells.split()]
        first, second = Printed(*numbers[:4]), Printed(*numbers[4:])  # type: ignore[arg-type]
        table[name.strip()] = (first, second)
    return table


PRINTED: Mapping[int, Mapping[str, tuple[Printed, Printed]]] = {
    10: _read_printed("""
        Uncalibrated   |  -   4.97 0.120 0.692   -   4.99 0.111 0.678
        TS             | 2.03 4.29 0.112 0.363  2.04 4.48 0.106 0.346
        Dirichlet-Hard |  -   4.46 0.114 0.395   -   4.70 0.107 0.394
        LS-TS          | 3.08 1.57 0.109 0.293  2.76 2.37 0.103 0.285
        MCTS S=1       | 3.14 1.45 0.111 0.296  3.07 0.81 0.101 0.277
        SLTS           | 3.18 1.51 0.110 0.293  3.07 0.85 0.102 0.278
        SoftPlatt      |  -   1.52 0.110 0.288   -   0.88 0.101 0.272
        Dirichlet-Soft |  -   1.25 0.109 0.271   -   0.72 0.100 0.255
    """),
    3: _read_printed("""
        Uncalibrated   |  -  27.79 0.650 1.384   -  35.97 0.743 2.148
        TS             | 2.42 10.55 0.537 0.886 3.81 11.63 0.549 0.900
        Dirichlet-Hard |  -  11.55 0.535 0.889   -  12.69 0.539 0.895
        LS-TS          | 4.40 4.16 0.522 0.873  6.15 2.65 0.529 0.881
        MCTS S=1       | 3.49 2.82 0.519 0.862  5.45 3.20 0.529 0.877
        SLTS           | 3.41 3.22 0.520 0.862  5.28 3.45 0.529 0.877
        SoftPlatt      |  -   2.66 0.509 0.839   -   3.17 0.511 0.841
        Dirichlet-Soft |  -   2.57 0.510 0.839   -   3.19 0.509 0.836
    """),
}

ERRATA = (
    Erratum(
        "1", "metrics, the Brier score",
        "||p - shares||^2, equivalent to the mean Brier score of drawn votes",
        "The two differ by 1 - ||shares||^2 in every row, 0.34 on average over the SNLI rows of "
        "ChaosNLI. The tables show the second. The order of methods does not change.",
    ),
    Erratum(
        "2", "Dirichlet-Hard and Dirichlet-Soft", "Dirichlet calibration (Kull et al. 2019)",
        "An affine map of the logits is matrix scaling; Dirichlet calibration maps the logarithms "
        "of the probabilities. This reproduction has both, under their own names.",
    ),
    Erratum(
        "3", "the code for true-label ECE", "15 bins of equal width",
        "Bins closed on the left drop confidences of exactly 1, which a confident network has in "
        "single precision. This may explain why the printed ECE for Uncalibrated on CIFAR-10H "
        "(4.97 and 4.99) is below that of equal-mass bins (5.71 and 5.36). In this reproduction, "
        "the last bin is closed.",
    ),
    Erratum(
        "4", "true-label ECE", "the mean of 100 ECEs, each against one vote drawn per row",
        "Each of them includes the noise of single labels, even for a perfect predictor. Against "
        "vote shares, the same bins and rows have hardly any noise. Both are shown.",
    ),
    Erratum(
        "5", "Label-Smooth Temperature Scaling",
        "epsilon is a data-driven estimate of average annotator disagreement",
        "It is nearly the predictor's error rate, whatever the votes. The paper's networks err on "
        "2 to 3 % of CIFAR-10, less often than votes depart from the majority (4.6 %). It makes a "
        "network that errs more often underconfident.",
    ),
)  # fmt: skip
