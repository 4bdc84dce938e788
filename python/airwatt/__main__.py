"""`python -P -m airwatt` is the command line. Without `-P` Python imports modules from the current folder first."""

from airwatt.cli import main

if __name__ == "__main__":
    main()
