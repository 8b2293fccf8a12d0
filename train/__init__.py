"""Learning from self-play, and the run that ties playing, learning and gating together."""
