"""What a card (or, without one, the host) did while cells ran: sampled beside them, read back, judged by cause."""
