"""Embedded operator suite: Triton kernels as an expert would write them, one file per operator family."""
