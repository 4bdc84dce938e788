"""`python -m airwatt` is the command line."""

from airwatt.cli import main

main()
