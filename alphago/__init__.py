"""Everything needed to play: games, networks, search, players. Needs neither ray nor hydra."""
