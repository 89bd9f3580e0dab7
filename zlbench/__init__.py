"""zlbench: reproducible, explainable, comparable A/B measurements of Triton compiler changes."""

__version__ = "0.1.0"
