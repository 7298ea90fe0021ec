"""What the command calls the arguments of Python: its options."""

from __future__ import annotations

from calibrant._core.messages import Naming

# Arguments whose option is not their own name with hyphens.
_OPTIONS = {
    "y_true": "--label",
    "y_proba": "--proba",
    "sample_weight": "--weight",
    "ids": "--id",
    "paired": "--unpaired",
    "at_most": "--max",
    "at_least": "--min",
    "columns": "--label or --groups",
}
# Settings that have an option of their own.
_FLAGS = {
    ("paired", False): "--unpaired",
    ("exact", False): "--one-pass",
    ("intervals", "all"): "--all-intervals",
}


class OptionNames(Naming):
    """Arguments as the options that give them: `missing='drop'` is `--missing drop`."""

    is_command, between = True, " "

    def name(self, argument: str) -> str:
        return _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")

    def setting(self, argument: str, value: object) -> str:
        if isinstance(value, str | bool) and (argument, value) in _FLAGS:
            return _FLAGS[argument, value]
        option = self.name(argument)
        return option if value is ... or value is True else f"{option} {_typed(value)}"


def _typed(value: object) -> str:
    """A value as it is typed behind its option."""
    from calibrant._core.binning import Quantile

    if value == [...]:
        return "A,B,..."
    if isinstance(value, dict):
        return " ".join(f"{name}={'...' if v is ... else v}" for name, v in value.items())
    if isinstance(value, Quantile):
        return f"quantile:{value.m}"
    return str(value)
