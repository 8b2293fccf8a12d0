"""Everything needed to play: games, networks, search and players. Importable without ray, hydra or a GPU."""
