"""What `alphago match` plays and tells, also in several processes."""
