"""The two colours: player ids of Go, and how they are written."""

BLACK, WHITE = 0, 1
COLOR_NAMES = ("black", "white")
COLOR_LETTERS = ("B", "W")
