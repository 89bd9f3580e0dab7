"""Compiler builds: what one is, how its environment is made, and which one a process really imported."""
