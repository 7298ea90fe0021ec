"""Numbers written as text: taken as they are written, or refused with a hint."""

from __future__ import annotations

from calibrant._core.errors import InputError


def plain_number(text: str) -> float | None:
    """The number that a text is; None if it is anything else."""
    if "_" in text:  # Python's own way to write 1_000
        return None
    try:
        return float(text)
    except ValueError:
        return None


def not_a_number(place: str, name: str, text: str) -> InputError:
    """The error for a text where a number is needed."""
    shown = text if len(text) <= 40 else text[:37] + "..."
    hint = ""
    if text.strip().endswith("%"):
        hint = ". Percentages are not guessed: divide them by 100"
    elif plain_number(text.replace(",", ".", 1)) is not None:
        hint = ". Decimals need a point, not a comma"
    return InputError(f"{place}: {name} is {shown!r}, which is not a number{hint}")
