"""Statistics of repeated rounds: rows in, verdicts out (`infer`). Pure; scipy is imported when first needed."""
