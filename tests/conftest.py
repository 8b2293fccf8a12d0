"""What every test may rely on."""

import signal

# A shell starts background jobs with Ctrl-C ignored, `nohup` what it starts with SIGHUP ignored,
# and children inherit that: tests that interrupt a run or an engine would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
