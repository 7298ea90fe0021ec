"""Files measured without loading them, in passes over their rows."""
