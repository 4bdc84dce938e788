"""What became of the protected frames of a capture, where a passphrase or a key was given."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airwatt._core import RunError

_NAMED = 3


def lines(capture: Mapping[str, Any]) -> Iterator[str]:
    """Yields one line, and one for each reason for which frames were not decrypted."""
    from airwatt.tables import count

    found = capture.get("decryption")
    if found is None:
        return
    yield (
        f"decryption: {count(found['decrypted_frames'])} of {count(found['protected_frames'])} protected data frames"
        " decrypted"
    )
    for reason in found["undecidable"]:
        frames, stations = reason["frames"], reason["station_count"]
        named = ", ".join(reason["stations"][:_NAMED]) + (" and others" if stations > _NAMED else "")
        yield (
            f"undecidable: {count(frames)} {'frame' if frames == 1 else 'frames'} of {named}: {reason['reason']}"
            f" (first: packet {reason['first_packet']})"
        )


def failure(documents: Sequence[Mapping[str, Any]]) -> str | None:
    """Says why nothing could be decrypted though a key was given; None if something was, or no key was given."""
    found = documents[0]["capture"].get("decryption")
    if found is None or found["verdict"] != "undecidable":
        return None
    reasons = [reason["reason"] for reason in found["undecidable"]]
    why = reasons[0] if reasons else "the capture has no protected data frames that are whole"
    return f"--wpa-pwd, --wpa-psk: undecidable: nothing was decrypted: {why}"


def require(documents: Sequence[Mapping[str, Any]]) -> None:
    """Raises `RunError` if a key was given and nothing could be decrypted: what needs it was not evaluated."""
    why = failure(documents)
    if why is not None:
        raise RunError(why)
