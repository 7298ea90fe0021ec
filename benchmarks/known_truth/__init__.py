"""Populations whose truth is known, and what intervals and tests do on samples of them."""
