"""`python -m airwatt` is the command line."""

from airwatt.cli import main

if __name__ == "__main__":
    main()
