"""The report of a run: what is collected, and the page that shows it."""
