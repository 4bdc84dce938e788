#!/bin/sh
# Starts airwatt with the packages that are installed beside it. SIGINT stays blocked until the program can handle it.
# An empty entry of PYTHONPATH, as PYTHONPATH=$PYTHONPATH:/x leaves one, means the current folder. It may hold modules of
# anybody, and so no code comes from there.
case $PYTHONPATH in
:* | *::* | *:) PYTHONPATH=$(printf %s "$PYTHONPATH" | sed 's/::*/:/g; s/^://; s/:$//') ;;
esac
exec env --block-signal=INT /usr/bin/python3 -P -c \
    'import sys; sys.path.insert(0, "/usr/lib/airwatt/python"); from airwatt.cli import main; main()' "$@"
