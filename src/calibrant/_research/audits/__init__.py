"""Measures tested in worlds where the truth is known.

Everything here goes through the public functions, as a user would.
"""
