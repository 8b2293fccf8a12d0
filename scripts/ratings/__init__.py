"""What `alphago rate` plays, keeps and tells."""
