"""How strong is it? Matches, the gate, position suites. Import its modules, never the bare name."""
