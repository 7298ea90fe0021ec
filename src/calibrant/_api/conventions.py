"""conventions(): why two tools give two numbers for the same predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.rows import as_samples, note_two_columns
from calibrant._core.arguments import Reading
from calibrant._core.bin_counts import BY_ROWS, is_by_rows
from calibrant._core.binning import EqualWidth, as_rule
from calibrant._core.engine_choice import n_threads
from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._core.validation import public
from calibrant._data.explain import explained
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.ordering import stable_order
from calibrant._engines.arrays.passes import LANES_FROM, in_threads, whole_problem
from calibrant._inference.cells import ScalarRows
from calibrant._measures.benchmark_rules import BENCHMARK_RULES
from calibrant._measures.binned import binned_error
from calibrant._measures.catalogue import find
from calibrant._measures.peer_rules import PEER_RULES, PeerRule
from calibrant._measures.smooth_rules import SMOOTH_RULES
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant.results._conventions import Convention, Conventions
from calibrant.results._rendering import shown

# The rules of tools, then those of benchmarks of language models and of smooth errors.
ALL_RULES = (*PEER_RULES, *BENCHMARK_RULES, *SMOOTH_RULES)


@public
def conventions(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: int | str = 15,
    notion: str | None = None,
    **rows: Unpack[Reading],
) -> Conventions:
    """The ECE of these data by each well-known tool and benchmark, and why they differ.

    Every tool's rule is computed with its default number of bins and with `bins`; no tool needs to
    be installed. Benchmarks of language models have their own rules: that of Hendrycks, which
    Humanity's Last Exam (HLE) uses, drops the last bin. For (n, k) predictions, the top label is
    evaluated.

    Parameters
    ----------
    bins : int or str, default 15
        Number of bins at which all tools are compared; `"cbrt"` and `"auto"` choose the number of
        bins by the number of rows.
    notion (scalar)
    data (in memory)

    Returns
    -------
    Conventions
        A row for each tool in `rows`, Calibrant first; prints as a table.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [1] * 90 + [0] * 10 + [1] * 100
    >>> p = [1.0] * 100 + [0.91] * 100
    >>> table = cal.conventions(y, p, bins=10)
    >>> [(row.tool, round(row.at_common, 4)) for row in table.rows[:2]]
    [('Calibrant', 0.005), ('torchmetrics', 0.095)]
    """
    samples = as_samples(y_true, y_proba, **rows)
    rule = _equal_width_rule(bins, samples.n)
    resolved = resolve_notion(samples, notion)
    if resolved in ("classwise", "full"):
        raise InputError("conventions needs one scalar problem: use notion='confidence'")
    return note_two_columns(conventions_of(samples, rule, resolved), samples, resolved)


def _equal_width_rule(bins: Any, n: int) -> EqualWidth:
    """The equal-width bins to compare tools at, from a count or a name such as "cbrt".

    A name stands for a number that follows from the n rows.
    """
    if is_by_rows(bins):
        rule = as_rule(bins, n=n)
        assert isinstance(rule, EqualWidth)
        return rule
    try:
        return EqualWidth(bins)
    except InputError as error:
        names = " or ".join(map(repr, BY_ROWS))
        raise InputError(f"{error}. A name ({names}) chooses a number from the rows") from None


def conventions_of(
    samples: Samples, rule: EqualWidth, notion: Notion, whole: ScalarRows | None = None
) -> Conventions:
    """The ECE that each tool would show for validated samples; weights are ignored.

    Most tools take no weights. `whole` has one prediction, target and weight per row (P(y = 1) or
    the confidence), and findings on the labels; None if they are yet to be computed.
    """
    summary = Summary(samples)
    ours = binned_error(summary.table(notion, rule))
    with explained(samples):
        u, z, _, findings = whole or whole_problem(samples, notion)
    own = Convention(
        tool="Calibrant",
        version="",
        default_bins=15,
        at_default=binned_error(summary.table(notion, EqualWidth(15))),
        at_common=ours,
        answer="as defined",
        rule=f"{rule}, as doubles",
        why="This is the definition.",
    )
    many = u.size >= LANES_FROM
    # Many rows are put in order once: bins are found faster, and some rules sort.
    order = stable_order(u) if many else slice(None)
    ordered = u[order], z[order]

    def convention(peer: PeerRule) -> Convention:
        """The ECE that one tool would show, with its rule."""
        if peer.of_classes is not None and samples.multiclass:
            return _convention_of_tool(
                peer, peer.of_classes, *all_predictions_and_labels(), rule.m, findings.soft
            )
        given = (u, z) if peer.by_row else ordered
        return _convention_of_tool(peer, peer.compute, *given, rule.m, findings.soft)

    def all_predictions_and_labels() -> tuple[Array, NDArray[Any]]:
        """The predictions, (n, classes), and labels, (n,); the likeliest class of soft labels."""
        block = samples.block(0, samples.n)
        labels = block.targets if block.targets.ndim == 1 else block.targets.argmax(axis=1)
        return block.predictions.astype(np.float64), labels

    rows = in_threads(convention, ALL_RULES, n_threads() if many else 1)
    problem = replace(
        samples, predictions=u, targets=z, weights=None, from_logits=False, votes=None
    )
    smooth = Summary(problem)
    ours_smooth = shown(find("smooth_ece", "binary").compute(smooth))
    rows = [
        replace(each, why=f"{each.why} Calibrant's smooth_ece is {ours_smooth}.")
        if each.tool == SMOOTH_RULES[0].tool
        else each
        for each in rows
    ]
    return Conventions((own, *rows), rule.m, notion)


def _convention_of_tool(
    peer: PeerRule, compute: Callable[..., float], u: Array, z: NDArray[Any], bins: int, soft: bool
) -> Convention:
    """The ECE that one tool would show, in its default number of bins and in `bins`.

    `compute` takes the predictions u, their targets z and a number of bins. The values are None if
    the tool refuses soft labels (`soft`) or so few rows.
    """
    n = u.shape[0]
    own_bins = peer.bins_for(n)
    values: tuple[float | None, float | None] = (None, None)
    if soft and peer.soft_targets == "refused":
        answer = "rejects soft labels"
    elif n < peer.fewest_rows:
        answer = f"fails below {peer.fewest_rows} rows"
    else:
        with_its = compute(u, z, own_bins)
        if own_bins:
            values = with_its, with_its if bins == own_bins else compute(u, z, bins)
        else:  # it has no bins
            values = with_its, None
        answer = "wrong with soft labels" if soft and peer.soft_targets == "wrong" else "answers"
    return Convention(
        tool=peer.tool,
        version=peer.version,
        default_bins=own_bins,
        at_default=values[0],
        at_common=values[1],
        answer=answer,
        rule=peer.rule,
        why=peer.why,
    )
