"""Every number of a run, as YAML groups for Hydra, and the position suites. No code."""
