"""placeholder during assembly"""

EPILOG = ""


def command() -> None:
    """x"""
