"""Cells: bins that the user gives, a name for each row, in place of edges between predictions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.typing import Index, Mask


class Cells:
    """One bin for each combination of the values of given columns.

    Predictions within a cell may differ: its gap is that of their mean. Cells must not depend on
    labels. Then `lin_ce` over cells is truthful (Lu, Wu, Hartline and Hu, theorem 3.1) for
    predictions that do not depend on the labels of any row.

    Parameters
    ----------
    *ids : array-like of shape (n,) or str
        Values for each row, in one array or several; or the names of columns of `data`.

    Raises
    ------
    InputError
        If nothing is given, arrays are mixed with names, or a value is missing.

    Examples
    --------
    >>> import calibrant as cal
    >>> cells = cal.Cells(["young", "old", "old", "young"])
    >>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=cells)
    0.25

    For a frame, name the columns: ``bins=cal.Cells("age")``.
    """

    is_fixed: ClassVar[bool] = False
    drops_one: ClassVar[bool] = False

    def __init__(self, *ids: Any) -> None:
        named = [isinstance(each, str) for each in ids]
        if not ids or any(named) != all(named):
            raise InputError(
                "Cells needs arrays with one value for each row, or names of columns of data=: "
                "Cells(group), Cells('site', 'age')"
            )
        # The names of columns; () for arrays.
        self.names: tuple[str, ...] = ids if named[0] else ()
        self._columns = () if named[0] else tuple(map(_checked, ids))
        if len({each.size for each in self._columns}) > 1:
            sizes = ", ".join(str(each.size) for each in self._columns)
            raise InputError(f"Cells needs arrays of one length; got {sizes}")

    def with_columns(self, columns: Sequence[Any]) -> Cells:
        """The cells with the same names, and these columns as their values.

        Parameters
        ----------
        columns : sequence of array-like of shape (n,)
            The columns of these names.

        Returns
        -------
        Cells
            The cells of n rows.
        """
        out = Cells(*columns)
        out.names = self.names
        return out

    @cached_property
    def _distinct(self) -> tuple[NDArray[Any], Index]:
        """The distinct combinations, (cells, columns) as texts, and each row's number."""
        if not self._columns:
            raise InputError(f"{self} names columns: give their frame as data=, or give arrays")
        codes = [np.unique(each, return_inverse=True) for each in self._columns]
        rows = np.stack([index.reshape(-1) for _, index in codes], axis=1)
        own, of = np.unique(rows, axis=0, return_inverse=True)
        texts = [values.astype(str)[own[:, j]] for j, (values, _) in enumerate(codes)]
        return np.stack(texts, axis=1), of.reshape(-1).astype(np.intp)

    @property
    def m(self) -> int:
        """The number of cells."""
        return len(self._distinct[0])

    @property
    def labels(self) -> list[str]:
        """The name of each cell: its values, with commas between them."""
        return [", ".join(row) for row in self._distinct[0].tolist()]

    def of_rows(self, n: int, kept: Mask | None) -> Index:
        """Give the number of each row's cell.

        Parameters
        ----------
        n : int
            The number of rows that were kept.
        kept : array of bool or None
            A mask of the given rows; None if all were kept.

        Returns
        -------
        ndarray of shape (n,)
            Numbers from 0, in the order of `labels`.
        """
        index = self._distinct[1]
        if kept is not None and kept.size == index.size:
            index = index[kept]
        if index.size != n:
            raise InputError(
                f"bins=Cells(...) must have a value for each of {counted(n, 'row')}; it has "
                f"{index.size:,}"
            )
        return index

    def __str__(self) -> str:
        by = " x ".join(self.names)
        return f"cells of {by}" if by else f"{counted(self.m, 'given cell')}"

    def __repr__(self) -> str:
        return f"Cells({', '.join(map(repr, self.names)) or self.m})"


def _checked(ids: Any) -> NDArray[Any]:
    """The values of a column as an array (n,); InputError if one is missing."""
    values = np.asarray(ids)
    if values.ndim != 1:
        raise InputError(f"Cells needs arrays of shape (n,); got {values.shape}")
    if values.dtype == object:
        gone = np.array([each is None or each is not each or each != each for each in values])
        values = values.astype(str)
    else:
        gone = values != values
    if gone.any():
        raise InputError(
            f"Cells has no value in {counted(int(gone.sum()), 'row')}, first in row "
            f"{int(gone.argmax())}: give these rows a cell of their own, or drop them"
        )
    return values
