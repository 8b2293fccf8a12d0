"""What `alphago check` looks at, file by file."""
