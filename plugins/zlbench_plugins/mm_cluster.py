"""Work-around for the suite's Hopper mm cluster kernel."""
