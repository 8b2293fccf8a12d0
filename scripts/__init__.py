"""The command line: one thin module per sub-command. The only package that imports hydra."""
