"""One file a device family: data and parsers, no torch. A module takes part by having a `BACKEND`."""
