"""What `alphago ablate` trains, rates and tells."""
