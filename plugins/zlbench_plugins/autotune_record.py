"""Records what autotuners choose on a card."""
