"""The audit of any model or run for position bias: its direction, size and certainty."""
