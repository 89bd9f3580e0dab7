"""pytest plugins of zlbench, loaded into the measured interpreter by name with ``-p``; each file has one job."""
