"""Appendix A of Lu et al. on real language models, where their answers are at hand."""

import pytest
from test_real_sets import FOLDER

from calibrant._research.papers import truthful_language_models


def test_orders_of_language_models_are_not_covered_before_scaling() -> None:
    path = truthful_language_models.find_file(FOLDER / "literature")
    if path is None:
        pytest.skip(
            "llm_multiple_choice.npz is not at hand: CALIBRANT_DATA names its folder's parent"
        )
    columns = truthful_language_models.appendix_a(path)
    covered: dict[tuple[str, str, int], list[int]] = {}
    for row in zip(*columns.values(), strict=True):
        each = dict(zip(columns, row, strict=True))
        key = each["logits"], each["confidences"], each["bins"]
        counts = covered.setdefault(key, [0, 0])
        covered[key] = [counts[0] + each["covered"], counts[1] + each["orders"]]
    # The numbers of docs/research/papers.md.
    given = [covered["norm", "as given", m] for m in (5, 20, 100)]
    scaled = [covered["norm", "Platt scaled", m] for m in (5, 20, 100)]
    assert given == [[0, 910], [25, 910], [173, 910]]
    assert scaled == [[512, 910], [625, 910], [783, 910]]
