"""`airwatt completion`: the script is one for the shell, and completes commands, options and names."""

import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
import time

import pytest

from airwatt.cli import COMMANDS


def completed(script, line):
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _airwatt; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.split()


def test_bash_completes_commands_options_and_names(airwatt):
    script = airwatt.output(["completion", "bash"])
    assert set(COMMANDS) <= set(completed(script, "airwatt "))
    assert completed(script, "airwatt sw") == ["sweep"]
    assert {"--over", "--store", "--until"} <= set(completed(script, "airwatt sweep --"))
    for command in ("run", "report", "explore"):
        assert "fast-dsl" in completed(script, f"airwatt {command} fa")
    assert completed(script, "airwatt run x --policy psm-l") == ["psm-legacy"]
    assert "status" in completed(script, "airwatt sweep st")
    assert completed(script, "airwatt model mac") == ["mac-frame"]
    assert completed(script, "airwatt reproduce e2tcp/tab5.3") == ["e2tcp/tab5.3"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_script(airwatt, shell):
    script = airwatt.output(["completion", shell])
    assert all(command in script for command in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", "-c", script], check=True)


class Terminal:
    """An interactive zsh whose keys are pressed one by one."""

    def __init__(self, folder):
        self._terminal, standard = pty.openpty()
        self._process = subprocess.Popen(
            ["zsh", "--no-globalrcs", "--no-rcs", "-i"],
            stdin=standard,
            stdout=standard,
            stderr=standard,
            cwd=folder,
            env=os.environ | {"TERM": "dumb", "HOME": str(folder), "LC_ALL": "C"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(standard)

    def type(self, keys, until):
        """Types keys; returns what the terminal shows after them, once a text is in it."""
        os.write(self._terminal, keys.encode())
        shown, deadline = "", time.monotonic() + 30
        while until not in shown:
            assert time.monotonic() < deadline, shown
            if select.select([self._terminal], [], [], 1)[0]:
                shown += os.read(self._terminal, 65_536).decode()
        return shown

    def close(self):
        os.close(self._terminal)
        self._process.wait(timeout=30)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_tab_completes_in_zsh_from_its_first_press(airwatt, tmp_path):
    (tmp_path / "_airwatt").write_text(airwatt.output(["completion", "zsh"]))
    terminal = Terminal(tmp_path)
    clear = "\x15"
    try:
        terminal.type("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy\n", "ready")
        terminal.type("airwatt sw\t", "airwatt sweep")
        terminal.type(clear + "airwatt sweep --sto\t", "--store")
        terminal.type(clear + "airwatt run fast-d\t", "fast-dsl")
        terminal.type(clear + "airwatt run x --policy psm-l\t", "psm-legacy")
        shown = terminal.type(clear + "airwatt comp\t", "completion")
        assert "compare" in shown
    finally:
        terminal.close()


def test_another_shell_is_refused(airwatt):
    answer = airwatt("completion", "tcsh")
    assert answer.status == 2
    assert answer.is_one_line("completion", "tcsh", "bash")
