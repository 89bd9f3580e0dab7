"""Statistics of repeated rounds: rows in, verdicts out (`infer`). Pure; scipy is imported when first needed."""

from zlbench.inference.analysis import infer
from zlbench.inference.types import Inference, Sample, Settings

__all__ = ["Inference", "Sample", "Settings", "infer"]
