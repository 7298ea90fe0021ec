"""Engines: what sums samples where they are."""

# First, because `selection` and the engine of arrays import each other.
from calibrant._engines import arrays as arrays
