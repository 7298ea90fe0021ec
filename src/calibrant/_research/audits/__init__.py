"""Measures put on trial in worlds where the truth is known.

Everything here goes through the public functions, as a user would. Only `audit` imports
this room.
"""
