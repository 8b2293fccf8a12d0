"""A long run under random faults, and what must hold at its end."""
