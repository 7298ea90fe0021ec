"""Readers of files: one module a format, each giving chunks of the columns that are wanted."""
