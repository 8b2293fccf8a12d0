"""All readers that are fed."""

from tests.fuzz import protocol_targets, run_targets, word_targets

TARGETS = (*protocol_targets.TARGETS, *run_targets.TARGETS, *word_targets.TARGETS)
