"""Calibrant inside the libraries people already use."""
