"""Many games at once, played by the network against itself, and the records they leave on disk."""
