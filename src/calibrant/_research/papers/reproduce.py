"""The front door to the papers: `reproduce(name)` computes one again and writes its folder."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_seed

if TYPE_CHECKING:
    from calibrant._research.papers.folder import Reproduction

# The module of each paper, and the options that its `reproduce` takes besides seed and quick.
PAPERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "soft-mean": ("calibrant._research.papers.soft_mean", ()),
    "logit-smoothing": ("calibrant._research.papers.logit_smoothing", ("data",)),
    "truthful": ("calibrant._research.papers.truthful", ("data",)),
}


def reproduce(
    paper: str,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    progress: bool = False,
) -> Reproduction:
    """Do a paper's experiments again, through the same functions that everyone calls.

    Parameters
    ----------
    paper
        "soft-mean" (Leznik 2026), "logit-smoothing" (Chidambaram et al. 2024) or "truthful" (Lu,
        Wu, Hartline and Hu).
    out
        The folder to write: one page, the tables as CSV and JSON, the figures as SVG and PNG. It
        must be new, empty or an earlier reproduction. None writes nothing.
    data
        A folder of saved predictions (.npz), for the papers that measure real predictors.
    quick
        Fewer replications: a look in seconds, not the paper's own counts.
    seed
        Of the paper's generator; None is the seed that gives the paper's numbers.
    progress
        Show a bar on standard error, where that is a terminal.

    Examples
    --------
    >>> from calibrant._research.papers.reproduce import reproduce
    >>> done = reproduce("logit-smoothing", quick=True)  # with out="folder": a page to read
    >>> [round(e, 4) for e in done.tables["two_point"].columns["ECE"][:2]]  # 1/2, and a nudge
    [0.0, 0.5]
    """
    module, accepted = PAPERS[one_of("paper", paper, PAPERS)]
    options: dict[str, Any] = {"seed": _seed(seed), "quick": bool(quick)}
    if data is not None:
        if "data" not in accepted:
            raise InputError(f"data: the experiments of {paper!r} draw their own; leave it out")
        options["data"] = data
    if out is not None:
        # What would stop the end of a long run stops its beginning.
        from calibrant._research.papers.figures import need_matplotlib
        from calibrant._research.papers.output import check_folder

        need_matplotlib()
        check_folder(out)
    from calibrant._research.papers.progress import Progress

    done: Reproduction = importlib.import_module(module).reproduce(
        progress=Progress(show=progress), **options
    )
    if out is not None:
        done.write(out)
    return done


def _seed(seed: Any) -> int | None:
    return None if seed is None else check_seed(seed)
