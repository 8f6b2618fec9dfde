"""Measurements; the docs print what they print."""
