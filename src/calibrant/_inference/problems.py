"""Problems: what inference reads of one set of samples, each part of it made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from calibrant._core.binning import Rule
from calibrant._core.typing import Array
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.cells import Problem, Whole, problem_by_class, problem_of
from calibrant._inference.class_bins import ClassBins, class_bins, full_bins
from calibrant._inference.means import row_values


@dataclass(eq=False)
class Problems:
    """Scalar problems, the bins of all classes and the losses of rows, made when first asked for.

    Intervals, noise floors and the resamples that several predictors share read the same ones.
    """

    samples: Samples
    _made: dict[Any, Any] = field(default_factory=dict)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @property
    def notion(self) -> Notion:
        """The notion of the scalar problem: of several classes that of the top label."""
        return "confidence" if self.samples.multiclass else "binary"

    def whole(self, notion: Notion) -> Whole:
        """Predictions, targets and weights of a scalar problem, and what was found in them."""
        return self._once(("whole", notion), partial(whole_problem, self.samples, notion))

    def scalar(self, rule: Rule, notion: Notion | None = None) -> Problem | None:
        """A scalar problem in the bins of a rule; None where the rule drops rows."""
        own = notion or self.notion

        def make() -> Problem | None:
            return problem_of(self.samples, own, rule, self.whole(own))

        return self._once((own, rule), make)

    def by_class(self, rule: Rule) -> Problem | None:
        """The top label's problem given the class that is predicted."""

        def make() -> Problem | None:
            return problem_by_class(self.samples, rule, self.whole("confidence"))

        return self._once(("by class", rule), make)

    def classes(self, rule: Rule, *, above: bool = False) -> tuple[ClassBins, int] | None:
        """The bins of every class, and their number; with `above` without small predictions."""
        make = partial(class_bins, self.samples, rule, above=above)
        return self._once(("classes", above, rule), make)

    def full(self, rule: Rule) -> tuple[ClassBins, int] | None:
        """The cells of vector predictions times classes, and the number of classes."""

        def make() -> tuple[ClassBins, int] | None:
            return full_bins(self.samples, rule, self.whole("confidence"))

        return self._once(("full", rule), make)

    def row_values(self, *, distribution: bool) -> dict[str, Array]:
        """The losses of every row; with `distribution` the distances of distributions."""
        make = partial(row_values, self.samples, distribution=distribution)
        return self._once(("rows", distribution), make)
