"""The simulations of docs/station.md are the output of their commands, and its sentences agree with them."""

import importlib.util
import re

import pytest
from conftest import ROOT

import airwatt as package
import pages

_EXAMPLE = importlib.util.spec_from_file_location("latency_guard", ROOT / "examples" / "latency_guard.py")
assert _EXAMPLE is not None
assert _EXAMPLE.loader is not None
guard = importlib.util.module_from_spec(_EXAMPLE)
_EXAMPLE.loader.exec_module(guard)

MISSED = {("pages", 20, 3)}
"""What the page says that it misses."""

PAGE = ROOT / "docs" / "station.md"

CELL = {"ap.beacon_interval": "102.4ms", "station.listen_interval": "1", "station.radio": guard.RADIO}


def test_the_tables_are_what_the_commands_print(airwatt, request):
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))


def test_the_sample_of_the_doctor_has_each_line_that_it_prints():
    source = (ROOT / "crates/daemon/src/station/doctor.rs").read_text()
    # The host of the sample has one interface.
    labels = set(re.findall(r'Fact::new\(\s*"([^"]+)"', source)) - {"also Wi-Fi"}
    _, _, doctor = PAGE.read_text().partition("\n## The doctor\n")
    sample = re.match(r".*?\n\n((?:    .*\n)+)", doctor, re.DOTALL)
    assert sample is not None
    assert set(re.findall(r"^    (\S.{0,15}\S)  ", sample[1], re.MULTILINE)) == labels


def test_what_the_page_says_of_them():
    *_, tail, comb, scans = (output for _, output in pages.shown(PAGE.read_text()))

    def column(output: str, policy: str) -> list[str]:
        # The settings of a long name are on a line of their own.
        output = re.sub(r"^( *\S+:)( .*)\n *(\S+=\S+)$", r"\1\3\2", output, flags=re.M)
        return re.split(r"\s{2,}", next(line for line in output.splitlines() if line.startswith(policy + " ")))

    # The reported tail: p50 49 to 127 ms, p99 0.8 to 2 s.
    assert column(tail, "timeout:timeout=2s")[1:3] == ["118 ms", "952 ms"]
    assert column(tail, "latency-guard:timeout=2s")[1].startswith("21.")
    # The guard removes the comb: 95 of 100 answers are as fast as with power save off, the slowest half a ms slower.
    assert column(comb, "latency-guard:timeout=20ms")[1:3] == column(comb, "active")[1:3]
    assert column(comb, "latency-guard:timeout=20ms")[3].startswith("21.")
    assert column(comb, "timeout:timeout=20ms")[3] != column(comb, "active")[3]
    # A scan meets three pings in a hundred, under any policy.
    for policy in ("active", "timeout", "latency-guard"):
        p50, p95, p99 = column(scans, policy)[1:4]
        assert (p50, p95) == ("21.0 ms", "21.0 ms")
        assert float(p99.removesuffix(" ms")) > 4 * 21


@pytest.mark.parametrize("traffic", guard.TRAFFIC)
def test_the_guard_keeps_the_bound_for_no_more_than_the_cheaper_setting_that_does(traffic):
    page = PAGE.read_text()
    for tail_ms in guard.TAILS_MS:
        for interval in guard.LISTEN_INTERVALS:
            cells = guard.measured(traffic, tail_ms, interval)
            off, on, guarded, triggering = cells
            expected = (traffic, tail_ms, interval) not in MISSED
            assert guard.keeps_its_word(traffic, off, on, guarded) == expected, (tail_ms, interval, cells)
            assert guard.keeps_its_word(traffic, off, on, triggering) == expected, (tail_ms, interval, cells)
            line = guard.line(traffic, tail_ms, interval, cells)
            assert f"    {line}\n" in page, f"the page lacks {line}"


@pytest.mark.parametrize("traffic", ["keys-there", "gap-1s", "gap-2s", "pages"])
def test_a_driver_that_stays_awake_for_long_needs_the_guard_for_pauses_beyond_a_third_of_its_tail(traffic):
    page = PAGE.read_text()
    for tail_ms in (1500, 2000):
        off, on, *_ = cells = guard.measured(traffic, tail_ms, 1, runs=3)
        assert f"    {guard.line(traffic, tail_ms, 1, cells)}\n" in page
        assert guard.keeps_bound(off, on) == (traffic in ("keys-there", "pages"))


@pytest.mark.parametrize("traffic", ["radio", "mixed"])
def test_a_stream_is_left_to_power_save_and_keys_beside_it_are_not(traffic):
    off, on, guarded, _ = cells = guard.measured(traffic, 100, 1)
    lines = "".join(f"    {line}\n" for line in guard.lines(traffic, 100, 1, cells))
    page = PAGE.read_text()
    assert lines in page
    if traffic == "radio":
        assert guard.keeps_its_word(traffic, off, on, guarded)
    else:
        assert guard.keeps_bound(([off[0][1]], off[1]), ([guarded[0][1]], guarded[1]))


@pytest.mark.parametrize("traffic", ["typed-5s", "typed-20s", "shell-open"])
def test_commands_with_pauses_are_what_the_example_prints(traffic):
    page = PAGE.read_text()
    for tail_ms in (100, 1500, 2000):
        off, on, guarded, _ = cells = guard.measured(traffic, tail_ms, 1, runs=3)
        assert f"    {guard.line(traffic, tail_ms, 1, cells)}\n" in page
        # Where the driver stays awake for long, power save alone keeps the bound.
        assert guard.keeps_bound(off, on) == (tail_ms > 100)
        assert guarded[1] < off[1]


@pytest.mark.parametrize("traffic", ["gap-30s", "gap-60s", "each-30s", "each-60s", "poll-30s", "day"])
def test_peers_that_ask_rarely_and_a_day_are_what_the_example_prints(traffic):
    cells = guard.measured(traffic, 100, 1)
    lines = "".join(f"    {line}\n" for line in guard.lines(traffic, 100, 1, cells))
    assert lines in PAGE.read_text()
    _, on, guarded, _ = cells
    # Rare questions at random cost what they cost with power save. Regular ones, and a whole day, cost a little more.
    assert guarded[1] <= on[1] * (1.05 if traffic.startswith("gap") else 1.65)


def test_peers_with_a_connection_for_each_question_are_reached():
    page = PAGE.read_text()
    for traffic, costs in (("curl", True), ("poll-30s", False)):
        off, on, guarded, triggering = cells = guard.measured(traffic, 100, 1)
        assert f"    {guard.line(traffic, 100, 1, cells)}\n" in page
        assert [guard.keeps_bound(off, cell) for cell in (on, guarded, triggering)] == [False, True, True]
        assert (guarded[1] > 5 * on[1]) == costs
        assert triggering[1] < 1.05 * on[1]


def test_the_first_eight_of_a_monitors_questions_wait():
    """They are more than 5 % of 150, and less of 300."""

    def p95_ms(count: int) -> int:
        flow = [guard.monitor("30s", count)]
        run = package.run("ssh", policy="latency-guard", set=CELL | {"flow": flow, "time_limit": "6h"})
        return round(guard.waits_s(run)[0] * 1e3)

    assert [p95_ms(150), p95_ms(165)] == [94, 29]
    assert "the first eight of 150 wait" in " ".join(PAGE.read_text().split())


def test_a_rhythm_that_is_none_costs_triggers_their_advantage():
    """The page explains its row of triggers with a tail of 250 ms by what changes after the first minute."""

    def power_mw(duration: str) -> int:
        scenario, settings = guard.TRAFFIC["keys-there"]
        policy = "latency-guard:timeout=250ms:reach=triggers"
        run = package.run(scenario, policy=policy, set=settings | CELL | {"duration": duration})
        return round(run.stations[0].average_power_w * 1e3)

    assert (power_mw("60s"), power_mw("160s")) == (43, 154)


def test_a_shorter_time_for_answers_leaves_keys_to_triggers():
    """The page explains its rows of triggers by the time for which what comes counts as an answer."""

    def with_answer(traffic: str, tail_ms: int) -> tuple[int, int]:
        scenario, settings = guard.TRAFFIC[traffic]
        policy = f"latency-guard:timeout={tail_ms}ms:reach=triggers:answer=100ms"
        run = package.compare(scenario, policy=[policy], set=settings | CELL).rows[0].runs[0]
        return round(max(guard.waits_s(run)) * 1e3), round(run.stations[0].average_power_w * 1e3)

    assert [with_answer("keys-there", tail_ms) for tail_ms in (0, 20, 100)] == [(44, 128), (44, 128), (45, 94)]
    assert with_answer("samba", 100)[0] == 54
    page = " ".join(PAGE.read_text().split())
    assert "the row costs 128 mW at tails of 0 and 20 ms and 94 mW at 100 ms, with the same 45 ms" in page
    assert "*samba* then waits 54 instead of 29 ms" in page


def test_on_battery_a_packet_of_a_peer_is_worth_less(capsys, monkeypatch):
    """The page's table of mains and battery is what its command prints, with the daemon's prices on each supply."""
    page = PAGE.read_text()
    command, table = re.search(r"\$ python (examples/latency_guard.py --supplies .*)\n((?:    .*\n)+)", page).groups()
    monkeypatch.setattr("sys.argv", command.split())
    guard.main()
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        line.strip() for line in table.splitlines()
    ]
    daemon = (ROOT / "crates" / "daemon" / "src" / "station" / "config.rs").read_text()
    assert "worth_on_battery: Span = Span::from_secs(2)," in daemon
    assert guard.SUPPLIES == (":worth=20s", ":worth=2s")
    for traffic in ("keys-there", "samba", "gap-2s", "mqtt"):
        off, _, mains, battery = guard.measured(traffic, 100, 1, guards=guard.SUPPLIES)
        assert guard.keeps_bound(off, mains)
        assert guard.keeps_bound(off, battery) == (traffic in ("keys-there", "samba"))


def test_the_first_lines_of_both_pages_install_prove_and_take_away():
    """The same commands in the same order, which the daemon has, and one answer for a Raspberry Pi in one place."""
    readme, page = (ROOT / "README.md").read_text(), PAGE.read_text()
    part = readme.partition("**You maintain a distribution")[2].partition("**You do research**")[0]
    station = (ROOT / "crates" / "daemon" / "src" / "station" / "mod.rs").read_text()

    def steps(text: str) -> list[str]:
        block = re.search(r"\n\n((?:    .*\n)+)", text).group(1)
        steps = re.findall(r"apt install|airwattd station [a-z]+|systemctl enable --now \S+|apt purge airwattd", block)
        for name in re.findall(r"airwattd station ([a-z]+)", block):
            assert re.search(rf"\n    {name.capitalize()}\b", station), name
        return steps

    measured = "airwattd station measure"
    assert [step for step in steps(page) if step != measured] == steps(part)
    assert measured in part
    assert steps(part)[0] == "apt install"
    assert steps(part)[-2:] == ["airwattd station off", "apt purge airwattd"]
    assert re.findall(r"[^.]*Raspberry[^.]*", part) == re.findall(
        r"[^.]*begins with the answer for each driver[^.]*", part
    )
    assert len(re.findall(r"^### A Raspberry Pi$", page, re.M)) == 1
    assert "(#a-raspberry-pi)" in page
