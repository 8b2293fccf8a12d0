"""How other programs talk about games: GTP, the Go Text Protocol, and SGF, the file format."""
