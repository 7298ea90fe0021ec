"""Exit codes of commands that ended without a result; `check` has its own."""

NOT_DONE = 3
INTERRUPTED = 130
