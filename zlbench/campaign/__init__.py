"""A campaign: screen, partition, ab_repeat and report as processes of their own, chained by files."""
