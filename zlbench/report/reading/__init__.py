"""From files to values: campaigns, rounds, pairs of runs; kernels and telemetry beside them."""
