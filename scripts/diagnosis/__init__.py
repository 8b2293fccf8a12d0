"""What `alphago doctor` finds out about a machine."""
