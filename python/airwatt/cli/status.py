"""Exit statuses of the program."""

DONE = 0
FAILED = 1
"""It ran, and something failed."""
WRONG_INPUT = 2
THRESHOLD = 3
"""A result is beyond a bound of `--fail-if`."""
MISSING_FEATURE = 4
"""A privilege, a program or a feature of the machine is missing."""
INTERRUPTED = 130
"""Ended by SIGINT: 128 and the signal's number, as shells count."""
