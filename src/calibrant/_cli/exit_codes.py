"""Exit codes of commands that did not end with an answer; a check has codes of its own."""

NOT_DONE = 3
INTERRUPTED = 130
