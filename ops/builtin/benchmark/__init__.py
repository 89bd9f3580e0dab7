"""Benchmarks of the embedded suite, in the shape of FlagGems' harness."""
