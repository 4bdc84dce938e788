#!/bin/sh
# Starts airwatt with the packages that are installed beside it. SIGINT stays blocked until the program can handle it.
exec env --block-signal=INT /usr/bin/python3 -P -c \
    'import sys; sys.path.insert(0, "/usr/lib/airwatt/python"); from airwatt.cli import main; main()' "$@"
