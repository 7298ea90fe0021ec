"""Files measured without loading them: passes over their rows, and what is told of them."""
