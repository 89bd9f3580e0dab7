"""Where cells run: requests in, ends out. `local` is the only engine so far; others serve the same few names."""
