"""Manual pages and `airwatt help`: from the declarations of the commands, and clean to groff and mandoc."""

import shutil
import subprocess

import pytest
from conftest import ROOT

from airwatt.cli import COMMANDS, manual
from airwatt.cli.topics import TOPICS

DAEMON = ROOT / "target" / "release" / "airwattd"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    for name, text in manual.pages("2026-01-31").items():
        (folder / name).write_text(text)
    if DAEMON.exists():
        subprocess.run([DAEMON, "manual", folder, "--date", "2026-01-31"], check=True)
    return folder


def test_each_command_has_a_page_with_its_options_and_examples(pages):
    for name in COMMANDS:
        text = (pages / f"airwatt-{name}.1").read_text()
        assert f"airwatt {name}" in text
        assert ".SH EXAMPLES" in text
    assert r"\-\-fail\-if" in (pages / "airwatt-run.1").read_text()
    assert r"\fBwired.rtt\fR" in (pages / "airwatt-scenario.5").read_text()
    assert "wake_up" in (pages / "airwatt-radio.5").read_text()


@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built")
def test_the_daemon_has_pages_of_section_8(pages):
    names = {path.name for path in pages.glob("*.8")}
    assert {"airwattd.8", "airwattd-cc-load.8", "airwattd-tunnel-up.8", "airwattd-station-doctor.8"} <= names
    assert not any("guard" in name or "manual" in name for name in names), "hidden commands have no page"
    assert "airwattd tunnel up" in (pages / "airwattd-tunnel-up.8").read_text().replace("\\-", "-")


@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built")
def test_a_synopsis_has_the_values_of_options_and_examples_are_commands(pages):
    def page(name):
        text = (pages / f"{name}.8").read_text().replace("\\-", "-").replace("\\ ", " ")
        return text.replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")

    def synopsis(name):
        text = page(name).partition(".SH SYNOPSIS\n.nh\n.ad l\n")[2]
        return text.partition(".ad\n.hy\n.SH DESCRIPTION\n")[0]

    assert synopsis("airwattd-tunnel") == "airwattd tunnel COMMAND ...\n"
    assert synopsis("airwattd-tunnel-down") == "airwattd tunnel down FILE|INTERFACE\n"
    assert synopsis("airwattd-station-reflect") == "airwattd station reflect [--listen ADDRESS:PORT] [--verbose]...\n"
    own, commands = synopsis("airwattd-station").split("\n.br\n")
    assert own.endswith(" [CONFIG]")
    assert commands == "airwattd station COMMAND ...\n"
    for command in ("", "-cc", "-tunnel", "-gateway", "-station", "-genkey"):
        assert ".SH EXAMPLES\n  " in page(f"airwattd{command}"), command


def keys_of(example):
    """The keys of a commented configuration, also those that are commented out, with the names of their tables."""
    table = ""
    for line in example.splitlines():
        text = line.removeprefix("# ")
        if text.startswith("["):
            table = text.split("#")[0].strip().strip("[]") + "."
        elif " = " in text and text.split(" = ")[0].isidentifier():
            yield table + text.split(" = ")[0]


@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built")
@pytest.mark.parametrize(("command", "ends"), [("tunnel", ("client", "concentrator")), ("gateway", ("mobile", "base"))])
def test_the_page_of_a_configuration_has_every_key_of_its_examples(pages, command, ends):
    text = (pages / f"airwattd-{command}.5").read_text().replace("\\-", "-").replace("\\(aq", "'")
    for end in ends:
        example = subprocess.run([DAEMON, command, "example", end], capture_output=True, text=True, check=True).stdout
        keys = set(keys_of(example))
        assert {"interface", "peer.name"} <= keys
        assert {key for key in keys if f"\\fB{key}\\fR" not in text} == set()
    assert "(\\fIa text; required\\fR)" in text


@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built")
def test_the_page_of_the_station_has_the_policies_that_it_runs(pages):
    text = (pages / "airwattd-station.5").read_text().replace("\\-", "-")
    assert "power_save.bound" in text
    assert 'default "30ms"' in text
    assert "power_save.int_max" in text
    assert "psm-throttling" not in text
    assert "unix:PATH, or a loopback address" in text, "the syntax of metrics"
    assert "triggers: a trigger of U-APSD" in text, "what the values of reach mean"


@pytest.mark.parametrize(
    "reader",
    [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]],
    ids=["mandoc", "groff"],
)
def test_a_reader_of_manual_pages_has_nothing_to_say(pages, reader):
    if shutil.which(reader[0]) is None:
        pytest.skip(f"{reader[0]} is not installed")
    files = sorted(map(str, pages.iterdir()))
    done = subprocess.run([*reader, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_a_page_fits_a_terminal(pages):
    command = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=80n"]
    for page in sorted(pages.iterdir()):
        shown = subprocess.run([*command, page], capture_output=True, text=True, check=True).stdout
        assert [line for line in shown.splitlines() if len(line) > 80] == [], page.name


def test_help_shows_a_command_a_topic_or_the_list(airwatt):
    listed = airwatt.output(["help"])
    assert all(f"  {name} " in listed for name in (*COMMANDS, *TOPICS))
    assert airwatt.output(["help", "compare"]) == airwatt.output(["compare", "--help"])
    for name in TOPICS:
        assert airwatt.output(["help", name]).strip()
        assert all(len(line) <= 80 for line in airwatt.output(["help", name]).splitlines()), name


def test_help_for_what_there_is_not_says_what_is_near(airwatt):
    answer = airwatt("help", "senario")
    assert answer.status == 2
    assert answer.is_one_line("help 'senario'", "hint: did you mean scenario?")
