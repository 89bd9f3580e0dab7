"""Repeated rounds: what is measured, in which order, until when, and what became of it."""
