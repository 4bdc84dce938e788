"""What the Rust core gives to Python. Documents cross as JSON text, columns as raw little-endian buffers."""

from collections.abc import Sequence
from os import PathLike
from typing import final

__version__: str
SCHEMA: int

class AirwattError(Exception):
    """Base of every error of this package. Its text is one line that names the place, the value and what is allowed."""

class InputError(AirwattError):
    """The input is wrong: a scenario, an option, a file. Exit status 2."""

class RunError(AirwattError):
    """The input was right and the run failed. Exit status 1."""

class MissingFeature(AirwattError):  # noqa: N818
    """A privilege, a kernel feature or an optional package is missing. Exit status 4."""

@final
class Control:
    """Watches and stops one run from another thread. All of it is safe while the run goes on."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Asks the run to stop; it raises `KeyboardInterrupt` in its own thread soon after."""
    @property
    def fraction(self) -> float:
        """Share of the run that is done, from 0 to 1, as far as it can be known."""
    @property
    def simulated_s(self) -> float:
        """Simulated time so far, in seconds."""
    @property
    def events(self) -> int:
        """Events so far."""

@final
class Scenario:
    """A scenario that was read and checked."""

    @staticmethod
    def load(name_or_path: str, overrides: Sequence[tuple[str, str]] = ...) -> Scenario:
        """Reads a file, or a scenario that ships, and applies `KEY=VALUE` pairs in order. Raises `InputError`."""
    @property
    def name(self) -> str:
        """The name that result documents carry."""
    def replace(self, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """The same scenario with `KEY=VALUE` pairs applied in order. Raises `InputError`."""
    def to_toml(self) -> str:
        """The whole scenario, defaults filled in, as it would stand in a file."""

@final
class Column:
    """One column of a trace."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """`i64`, `u32`, `bool` (a byte each), or `code`: `u32` indices into `labels`."""
    @property
    def labels(self) -> list[str]: ...
    @property
    def length(self) -> int: ...
    @property
    def data(self) -> bytes: ...

@final
class Run:
    """One finished run."""

    @property
    def json(self) -> str:
        """The result document."""
    def traces(self) -> list[tuple[str, list[Column]]]:
        """The traces by name; empty unless the run was traced."""
    def write_pcapng(self, path: str | PathLike[str]) -> None:
        """Writes the frames on the air as radiotap pcapng. Raises `OSError`."""
    def write_perfetto(self, path: str | PathLike[str]) -> None:
        """Writes radio states, frames, windows and queues for the Perfetto viewer. Raises `OSError`."""

def run(scenario: Scenario, seed: int, *, trace: bool = ..., control: Control | None = ...) -> Run:
    """Simulates. Lets other threads run meanwhile; raises `RunError`, or `KeyboardInterrupt` when stopped."""

def analyze(
    path: str,
    *,
    station: str | None = ...,
    radio: str | None = ...,
    policies: Sequence[str] = ...,
    seed: int = ...,
    control: Control | None = ...,
) -> str:
    """Analyses a capture; returns the document. Raises `InputError`, or `KeyboardInterrupt` when stopped."""

def schema() -> str:
    """The JSON schema of scenario files."""

def scenarios() -> str:
    """What ships, as a JSON list of `{name, description}`."""

def radios() -> str:
    """The radio profiles that ship, as a JSON list."""

def policies() -> str:
    """The power-save policies, as a JSON list of `{name, description, needs}`."""

def transports() -> str:
    """The transports, as a JSON list of `{name, description}`."""
