"""Papers, done again: each module computes one paper's results through the public API alone."""
