"""Hugging Face `evaluate`: Calibrant's measures as one of its metrics, offline, in fixed memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from calibrant._api.evaluate import evaluate as evaluate_rows
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, MissingExtra
from calibrant._core.validation import public
from calibrant._measures.catalogue import listed

try:
    import datasets  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import evaluate  # type: ignore[import-untyped, import-not-found, unused-ignore]
except ImportError as error:
    raise MissingExtra("evaluate", "evaluate", "a metric of Hugging Face evaluate") from error

MEASURES = tuple(m.name for m in listed("metric", "binary"))

_INPUTS = """
Calibration metric:
    predictions: probabilities, (n,) of class 1 or (n, k); logits with from_logits=True,
        log-probabilities with from_logprobs=True.
    references: 0/1, class indices, names with classes=[...], probabilities (n,), or rows (n, k).
    sample_weight: a weight per row, or nothing.
"""


class Calibration(evaluate.Metric):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """Calibration as a metric with `add_batch` and `compute`.

    Batches are summed one by one and never stored, so memory does not grow. Measures that need all
    predictions in order then need ``approximate=True``, which computes them from fine cells (see
    `Accumulator`). Rows passed only to `compute` are measured like in `calibrant.evaluate`. Several
    processes are an error, because `evaluate` would write their rows to files.

    Parameters
    ----------
    config_name : str, optional
        An option of every metric of `evaluate`.
    measures : iterable of str, default ('ece', 'smooth_ece', 'brier', 'log_loss')
        Names of the catalogue.
    bins : int or rule of binning, default 15
        The bins, as for `calibrant.evaluate`.
    from_logits : bool, default False
        Whether predictions are logits.
    from_logprobs : bool, default False
        Whether predictions are log-probabilities.
    classes : sequence, optional
        Labels of the classes, in the order of the columns.
    approximate : bool, default False
        Whether measures that need all predictions in order may come from fine cells.
    keep_in_memory : bool, default False
        An option of every metric of `evaluate`.
    cache_dir : str, optional
        An option of every metric of `evaluate`.
    num_process : int, default 1
        Must be 1: see above.
    process_id : int, default 0
        An option of every metric of `evaluate`.
    seed : int, optional
        An option of every metric of `evaluate`.
    experiment_id, hash : str, optional
        Options of every metric of `evaluate`.
    max_concurrent_cache_files : int, default 10000
        An option of every metric of `evaluate`.
    timeout : float, default 100
        An option of every metric of `evaluate`.

    Examples
    --------
    >>> from calibrant.integrations.evaluate_metric import Calibration
    >>> metric = Calibration(measures=["ece", "brier"], bins=10)
    >>> metric.add_batch(predictions=[0.2, 0.7], references=[0, 1])
    >>> metric.add_batch(predictions=[0.9, 0.4], references=[1, 0])
    >>> {name: round(value, 4) for name, value in metric.compute().items()}
    {'ece': 0.25, 'brier': 0.075}
    """

    @public
    def __init__(
        self,
        config_name: str | None = None,
        *,
        measures: Iterable[str] = MEASURES,
        bins: Bins = 15,
        from_logits: bool = False,
        from_logprobs: bool = False,
        classes: Sequence[Any] | None = None,
        approximate: bool = False,
        keep_in_memory: bool = False,
        cache_dir: str | None = None,
        num_process: int = 1,
        process_id: int = 0,
        seed: int | None = None,
        experiment_id: str | None = None,
        hash: str | None = None,
        max_concurrent_cache_files: int = 10_000,
        timeout: float = 100,
    ) -> None:
        if num_process != 1:
            raise InputError(
                f"num_process must be 1; got {num_process}. With several processes, update a "
                "calibrant.Accumulator in each, save it, and merge the files: only their sums "
                "need to meet"
            )
        self._settings: dict[str, Any] = {
            "measures": (measures,) if isinstance(measures, str) else tuple(measures),
            "bins": bins,
            "from_logits": from_logits,
            "from_logprobs": from_logprobs,
            "classes": classes,
        }
        self._approximate = approximate
        self._sums = self._empty_accumulator()  # checks the options before any row comes
        super().__init__(
            config_name,
            keep_in_memory=keep_in_memory,
            cache_dir=cache_dir,
            process_id=process_id,
            seed=seed,
            experiment_id=experiment_id,
            hash=hash,
            timeout=timeout,
            max_concurrent_cache_files=max_concurrent_cache_files,
        )

    def _empty_accumulator(self) -> Accumulator:
        """A new accumulator with the metric's options and no rows."""
        return Accumulator(**self._settings, approximate=self._approximate)

    def _info(self) -> Any:
        """The description of the metric, which the `evaluate` library asks for."""
        return evaluate.MetricInfo(
            description="Can these predicted probabilities be believed? Calibration errors and "
            "proper losses, for hard and soft labels.",
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("float64"),
                    "references": datasets.Value("float64"),
                }
            ),
        )

    def _build_data_dir(self) -> str:
        """The folder that the `evaluate` library writes rows to; empty, since none are written."""
        return ""  # nothing is written, so no folder is made

    def __len__(self) -> int:
        """The number of rows that have been added since the last `compute`."""
        return self._sums.n_rows

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, sample_weight: Any = None
    ) -> None:
        """Add a batch of predictions and labels.

        Parameters
        ----------
        predictions : array-like of shape (n,) or (n, k), optional
            Predicted probabilities, or logits.
        references : array-like of shape (n,) or (n, k), optional
            Labels, hard or soft.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        """
        self._sums.update(references, predictions, sample_weight=sample_weight)

    def add(
        self, *, prediction: Any = None, reference: Any = None, sample_weight: float | None = None
    ) -> None:
        """Add one prediction and its label.

        Parameters
        ----------
        prediction : float or sequence of float, optional
            A predicted probability, or one for each class.
        reference : label, optional
            The label of the row.
        sample_weight : float, optional
            The weight of the row.
        """
        weight = None if sample_weight is None else [sample_weight]
        self._sums.update([reference], [prediction], sample_weight=weight)

    def compute(
        self, *, predictions: Any = None, references: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """Compute the measures of all rows added before and given here, and reset.

        Parameters
        ----------
        predictions : array-like of shape (n,) or (n, k), optional
            Predicted probabilities, or logits.
        references : array-like of shape (n,) or (n, k), optional
            Labels, hard or soft.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        dict of str to float
            Each measure's value.
        """
        if predictions is not None or references is not None:
            if len(self) == 0:
                return self._compute(
                    predictions=predictions, references=references, sample_weight=sample_weight
                )
            self.add_batch(
                predictions=predictions, references=references, sample_weight=sample_weight
            )
        values = self._sums.evaluate().values
        self._sums = self._empty_accumulator()
        return values

    def _compute(
        self, *, predictions: Any, references: Any, sample_weight: Any = None
    ) -> dict[str, float]:
        """The measures of these rows alone, by name, computed from rows and not from sums."""
        return evaluate_rows(
            references, predictions, sample_weight=sample_weight, **self._settings
        ).values
