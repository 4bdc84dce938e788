"""`airwatt completion`: the script is one for the shell, and completes commands, options and names."""

import shutil
import subprocess

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


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_script(airwatt, shell):
    script = airwatt.output(["completion", shell])
    assert all(command in script for command in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", "-c", script], check=True)


def test_another_shell_is_refused(airwatt):
    answer = airwatt("completion", "tcsh")
    assert answer.status == 2
    assert answer.is_one_line("completion", "tcsh", "bash")
