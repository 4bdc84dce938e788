"""Base classes of mechanisms that are written in Python: a power-save policy, a congestion control.

A run makes one instance for each station, or for each TCP sender, and calls its methods as events happen. What a
class does not override it takes from the machines of the core, and costs nothing. An instance has to depend on nothing
but what it is given: no clock, no randomness without a fixed seed. Otherwise a run is no longer repeatable.

Times are integers in nanoseconds, sizes are integers in bytes, as in the machines. docs/own-mechanisms.md shows how to
write one and how much slower it is.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeGuard

from airwatt._core import AirwattError, InputError, check_mechanisms

if TYPE_CHECKING:
    from airwatt._core import Acknowledged, CongestionWindow, Radio, Scenario

Ability = Literal["switch", "tim", "service", "air-time", "flows", "trigger", "poll", "grant"]
Timer = Literal["inactivity", "trigger", "update"]
Frame = Literal["data", "trigger", "pm-null", "ps-poll"]
Recovery = Literal["go-back", "first-ack", "partial-acks", "scoreboard"]


class Policy:
    """How a station saves power: facts come in, and it acts through the radio.

    The radio has handled a fact before the policy is given it, and decides to doze afterwards. A wake-up that a request
    causes is counted under a reason that follows from the fact, or under `why`.
    """

    needs: ClassVar[Collection[Ability]] = ()
    """What it does with the radio (`switch`, `trigger`, `poll`, `grant`) and what it cannot do without (`tim`,
    `service`, `air-time`, `flows`). A request that is not listed here is refused."""

    def on_start(self, radio: Radio) -> None:
        """The station begins. Only the mode and timers may be set."""

    def on_beacon(self, radio: Radio, tim: bool) -> None:
        """A beacon was received; `tim` says whether it announces frames for this station."""

    def on_received(
        self, radio: Radio, nbytes: int, null: bool, more_data: bool | None, end_of_service: bool | None
    ) -> None:
        """A unicast frame was received, with an IP packet of `nbytes`; a Null frame has none.

        `more_data` and `end_of_service` are bits of its header; None if the station hides them.
        """

    def on_sent(self, radio: Radio, frame: Frame, nbytes: int, delivered: bool) -> None:
        """An own frame left the MAC: acknowledged (`delivered`), or given up at the retry limit."""

    def on_backlog(self, radio: Radio) -> None:
        """The number of the user's frames that wait (`radio.backlog`) has changed."""

    def on_service_ended(self, radio: Radio, more_data: bool | None, end_of_service: bool | None) -> None:
        """A service period, or the wait for a poll's answer, is over. The bits are those of its last frame.

        Both are None if that frame did not come in time.
        """

    def on_air_time(self, radio: Radio, transmit_ns: int, receive_ns: int, backoff_ns: int) -> None:
        """The answer to `radio.measure_air_time`: what the station's own frames took since the beginning."""

    def on_flow(self, radio: Radio, flow: int, sent: bool, nbytes: int, dscp: int) -> None:
        """The host passed an IP packet of `nbytes` to the MAC (`sent`), or received one; needs `flows`.

        `flow` is the number of its flow, the same for both directions, and `dscp` its differentiated services code
        point (RFC 2474).
        """

    def on_timer(self, radio: Radio, timer: Timer) -> None:
        """A timer that the policy set has expired."""


class CongestionControl:
    """The congestion window of a TCP sender: one method for each event, which changes the window that it is given.

    A method that is not overridden does what the algorithm of this package does whose `recovery` it has, and so does
    `super()`: Tahoe (`go-back`), Reno (`first-ack`), NewReno (`partial-acks`) or SACK (`scoreboard`).
    """

    recovery: ClassVar[Recovery] = "partial-acks"
    """How the sender repairs losses that duplicate acknowledgements indicate.

    * `go-back`: it retransmits everything from the loss on, in slow start.
    * `first-ack`: fast recovery until the first acknowledgement of new data.
    * `partial-acks`: fast recovery until everything in flight at its start is acknowledged.
    * `scoreboard`: the same, by selective acknowledgements.
    """
    ackloss: ClassVar[bool] = False
    """Whether the detector of lost acknowledgements stands beside it."""

    def on_ack(self, window: CongestionWindow, ack: Acknowledged) -> None:
        """New data was acknowledged outside fast recovery."""
        window.on_ack(ack)

    def on_enter_recovery(self, window: CongestionWindow, flight: int, duplicates: int) -> None:
        """Duplicate acknowledgements indicated a loss; the lost segment is about to be retransmitted.

        `flight` bytes are in flight, of which `duplicates` segments have left the network.
        """
        window.on_enter_recovery(flight, duplicates)

    def on_duplicate_ack(self, window: CongestionWindow) -> None:
        """One more duplicate acknowledgement arrived in fast recovery: a segment has left the network."""
        window.on_duplicate_ack()

    def on_partial_ack(self, window: CongestionWindow, ack: Acknowledged) -> None:
        """New data was acknowledged in fast recovery, but not all that was in flight when it began."""
        window.on_partial_ack(ack)

    def on_leave_recovery(self, window: CongestionWindow) -> None:
        """Fast recovery is over."""
        window.on_leave_recovery()

    def on_timeout(self, window: CongestionWindow, flight: int, reduces: bool, recovering: bool) -> None:
        """The retransmission timer expired with `flight` bytes in flight.

        `reduces` says whether the threshold is computed anew, `recovering` whether fast recovery was under way.
        """
        window.on_timeout(flight, reduces, recovering)

    def on_ack_loss(self, window: CongestionWindow) -> None:
        """Acknowledgements are being lost; comes only with `ackloss`."""
        window.on_ack_loss()

    def on_idle(self, window: CongestionWindow, restart_window: int) -> None:
        """The sender was idle for longer than the retransmission timeout and starts again."""
        window.on_idle(restart_window)


PolicyChoice = str | Callable[[], Policy]
"""The name of a policy, `FILE.py:CLASS`, a class derived from `Policy`, or a function that makes an instance of one."""
TransportChoice = str | Callable[[], CongestionControl]
"""The same of a transport, with a class derived from `CongestionControl`."""


class Mechanisms(NamedTuple):
    """The classes that a scenario names."""

    made: dict[str, Callable[[], Policy | CongestionControl]]
    """What makes instances, by the names that the scenario has."""
    files: tuple[str, ...]
    """The files that classes were loaded from. What goes wrong in them is a user's error."""

    def line_of(self, error: BaseException) -> str | None:
        """What a class in a file raised, or a call into it, in one line; None for what was raised elsewhere."""
        return _line_of(error, self.files, " and ".join(self.made) if all(map(in_file, self.made)) else "")


NONE = Mechanisms({}, ())
"""Of a scenario that names no class."""
_objects: dict[str, Callable[[], Any]] = {}
"""Classes and functions that were given as such, by the names that scenarios have for them."""
_executing: list[str] = []
"""The files of classes that are being loaded."""


def text_of(key: str, chosen: object) -> object:
    """The name that a scenario has for a class or a function, given as the value of a key; any other value as it is.

    Raises `InputError` for what is no mechanism.
    """
    is_policy, is_congestion = key.endswith("policy"), key.endswith("transport")
    if isinstance(chosen, str) or not (is_policy or is_congestion):
        return chosen
    base = Policy if is_policy else CongestionControl
    expected = f"{key}: expected a name, or a class derived from airwatt.{base.__name__}, got {chosen!r}"
    if not callable(chosen):
        raise InputError(f"{expected}; hint: the class itself, not an instance")
    if isinstance(chosen, type) and not issubclass(chosen, base):
        raise InputError(expected)
    found = next((text for text, known in _objects.items() if known is chosen), None)
    text = found or f"<python {len(_objects)}>:{name_of(chosen)}"
    _objects[text] = chosen
    return text


def by_file(key: str, chosen: Any) -> Any:
    """`FILE.py:CLASS` of a class that is the value of a key, also in lists and tables; any other value as it is.

    The path is relative to the current folder. Each process of a sweep loads the class from there. Raises `InputError`
    for what has no such place.
    """
    if _executing:
        hint = 'hint: begin sweeps under `if __name__ == "__main__":`'
        raise InputError(f"{_executing[-1]}: expected mechanisms alone, got a sweep as the file is loaded; {hint}")
    if isinstance(chosen, Mapping):
        return {name: by_file(f"{key}.{name}".lstrip("."), value) for name, value in chosen.items()}
    if isinstance(chosen, list | tuple):
        return [by_file(key, value) for value in chosen]
    if not callable(chosen):
        return chosen
    # A class of a prompt or a notebook has no file.
    module = sys.modules.get(getattr(chosen, "__module__", None) or "")
    path = Path(getattr(module, "__file__", None) or "").resolve()
    if not (
        isinstance(chosen, type) and path.is_file() and path.suffix == ".py" and chosen.__qualname__.isidentifier()
    ):
        raise InputError(
            f"{key}: expected a class at the top of a file, from which processes load it, got {chosen!r}; hint: write"
            " it into a file (in a notebook by %%writefile own.py) and name it as own.py:CLASS"
        )
    # As on a command line: tables and archives are to have no names of the folders above.
    near = os.path.relpath(path)
    return f"{near if near.startswith('..') else f'./{near}'}:{chosen.__name__}"


def in_file(chosen: object) -> TypeGuard[str]:
    """Whether a choice has the form `FILE.py:CLASS`."""
    return isinstance(chosen, str) and chosen.rpartition(":")[0].endswith(".py")


def files_of(scenario: Scenario) -> list[str]:
    """The classes in files that a scenario names, as `FILE.py:CLASS` with absolute paths. It executes nothing."""
    return list(dict.fromkeys(name for _, name, _, _ in scenario.own() if in_file(name)))


def mechanisms(scenario: Scenario) -> Mechanisms:
    """Loads the classes that a scenario names, which executes their files as they were when it was read.

    Each is a module of its own. Neither its folder nor the current one joins the path of modules. An instance of each
    is made, so that what is wrong with a class is known before a run. Raises `InputError`, and what making an instance
    of a class raises that is in no file.
    """
    made: dict[str, Callable[[], Any]] = {}
    for place, name, source, is_policy in scenario.own():
        if in_file(name):
            made[name] = _loaded(place, name, source, Policy if is_policy else CongestionControl)
        elif name in _objects:
            made[name] = _objects[name]
        else:
            raise InputError(f"{place}: expected FILE.py:CLASS, got an object of another process")
    found = Mechanisms(made, tuple(name.rpartition(":")[0] for name in made if in_file(name)))
    try:
        check_mechanisms(scenario, made)
    except BaseException as error:  # whatever a user's file raises
        line = found.line_of(error)
        if line is None:
            raise
        raise InputError(line) from None
    return found


def _loaded(place: str, chosen: str, source: str, base: type) -> Callable[[], Any]:
    path, _, name = chosen.rpartition(":")
    try:
        found = _executed(path, source).get(name)
    except BaseException as error:  # whatever a user's file raises
        line = _line_of(error, (path,), path)
        if line is None:
            raise
        raise InputError(f"{place}: {line}") from None
    if not isinstance(found, type) or not issubclass(found, base):
        got = "no class of that name" if not isinstance(found, type) else "another class"
        raise InputError(f"{place}: expected a class derived from airwatt.{base.__name__}, got {got}")
    return found


@functools.lru_cache(maxsize=64)
def _executed(path: str, source: str) -> dict[str, Any]:
    """The names of a file that was executed, once for each content that it had."""
    module = ModuleType(f"own mechanism in {path}")
    module.__file__ = path
    _executing.append(path)
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # the user's own file, which he has named
    finally:
        _executing.pop()
    return module.__dict__


def _line_of(error: BaseException, files: Collection[str], otherwise: str) -> str | None:
    """What was raised in files, in one line: the place, the type and the text.

    The place is `otherwise`, if that is given, of an error that no line of the files has raised, such as a call with
    wrong parameters. Returns None for Ctrl-C, and for errors of the core.
    """
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename in files]
    if isinstance(error, KeyboardInterrupt) and (not inside or frames[-1] is not inside[-1] or _may_be_signalled()):
        return None
    if inside:
        place = f"{inside[-1].filename}, line {inside[-1].lineno}"
    elif isinstance(error, SyntaxError) and error.filename in files:
        place = f"{error.filename}, line {error.lineno}"
    elif isinstance(error, Exception) and not isinstance(error, AirwattError):
        place = otherwise
    else:
        return None
    text = ""
    with contextlib.suppress(Exception):  # the text of an error is the user's code as well
        text = " ".join(str(error).split())
    return ": ".join(part for part in (place, type(error).__name__, text) if part) if place else None


def _may_be_signalled() -> bool:
    """Whether Python's own handler may raise `KeyboardInterrupt` at any line that this thread executes."""
    ours = threading.current_thread() is threading.main_thread()
    return ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def name_of(chosen: object) -> str:
    """The name that a choice has in a comparison."""
    return chosen if isinstance(chosen, str) else getattr(chosen, "__name__", repr(chosen))
