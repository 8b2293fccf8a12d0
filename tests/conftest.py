"""What every test may rely on."""

import signal

# A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests that
# interrupt a run or an engine would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
