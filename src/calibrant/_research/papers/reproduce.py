"""`reproduce`: compute a paper's results again, and write them to a folder."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, one_of
from calibrant._core.optional import need
from calibrant._core.validation import check_seed

if TYPE_CHECKING:
    from calibrant._research.papers.folder import Reproduction

# The papers, whose modules have the same names with underscores, and the options that the module's
# `reproduce` takes besides seed, quick and progress.
PAPERS: dict[str, tuple[str, ...]] = {
    "ten-bins": (),
    "soft-mean": ("tau", "inputs", "sd", "dimensions"),
    "logit-smoothing": ("data",),
    "truthful": ("data",),
    "ambiguous": ("data",),
    "literature": ("data",),
}


def reproduce(
    paper: str,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    progress: bool = False,
    tau: float | None = None,
    inputs: str | None = None,
    sd: float | None = None,
    dimensions: int | None = None,
) -> Reproduction:
    """Do a paper's experiments again, through the same functions that everyone calls.

    Parameters
    ----------
    paper : {"ten-bins", "soft-mean", "logit-smoothing", "truthful", "ambiguous", "literature"}
        McCaffrey's tutorial, Leznik (2026), Chidambaram et al. (2024), Lu, Wu, Hartline and Hu,
        or Tao et al. (2026); "literature" for printed numbers of public repositories.
    out : str or os.PathLike, optional
        The folder to write: one page, the tables as CSV and JSON, the figures as SVG and PNG. It
        must be new, empty or an earlier reproduction. Without it nothing is written.
    data : str or os.PathLike, optional
        A folder of saved predictions (.npz), for the papers that measure real predictors; for
        "ambiguous", with the votes of annotators; for "literature", of checkouts.
    quick : bool, default False
        Run fewer replications: seconds, instead of the paper's own counts.
    seed : int, optional
        Seed of the paper's generator; by default the seed that gives the paper's numbers.
    progress : bool, default False
        Show a progress bar on standard error, if that is a terminal.
    tau : float in (0, 1), optional
        For "soft-mean": the threshold of labels, in place of 1/2. With this or one of the next
        three, the experiments are run in that world, beside the paper's.
    inputs : {"uniform", "gaussian"}, optional
        For "soft-mean": draw x uniformly, as the paper does, or from the Gaussian classes.
    sd : float from 0.1 to 10, optional
        For "soft-mean": the standard deviation of class 1; that of class 0 is 1. The log odds of
        the posterior are then quadratic in x.
    dimensions : int, optional
        For "soft-mean": the number of dimensions of x.

    Returns
    -------
    Reproduction
        The results: `tables` and `figures` by name, `errata`, `to_dict()`, `to_html()` and
        `write(folder)`.

    Raises
    ------
    InputError
        If an option is not valid, or `out` cannot be written; before any work is done.
    MissingExtra
        If `out` is given and matplotlib or jinja2 is not installed.

    Examples
    --------
    >>> from calibrant import reproduce
    >>> done = reproduce("logit-smoothing", quick=True)  # with out="folder": a page to read
    >>> [round(e, 4) for e in done.tables["two_point"].columns["ECE"][:2]]  # 1/2, and a nudge
    [0.0, 0.5]
    """
    accepted = PAPERS[one_of("paper", paper, PAPERS)]
    options: dict[str, Any] = {"seed": None if seed is None else check_seed(seed)}
    own = {"data": data, "tau": tau, "inputs": inputs, "sd": sd, "dimensions": dimensions}
    for name, value in own.items():
        if value is None:
            continue
        if name not in accepted and name == "data":
            raise InputError(f"data: {paper!r} simulates its own data; drop data")
        if name not in accepted:
            raise InputError(f"{name} is an option only of 'soft-mean'; drop it for {paper!r}")
        options[name] = value
    if out is not None:
        # An error that would come at the end of a long run comes before it.
        from calibrant._research.papers.figures import PURPOSE
        from calibrant._research.papers.output import check_folder

        need("matplotlib", PURPOSE)
        need("jinja2", "a paper's page")
        check_folder(out)
    from calibrant._core.progress import TaskProgress

    module = import_module(f"calibrant._research.papers.{paper.replace('-', '_')}")
    shown = TaskProgress(show=progress)
    done: Reproduction = module.reproduce(quick=bool(quick), progress=shown, **options)
    if out is not None:
        done.write(out)
    return done
