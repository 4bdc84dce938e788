"""Pictures are drawn for any numbers; their appearance is not tested."""

import struct

import numpy as np
import pytest
from conftest import SHORT
from matplotlib.figure import Figure

import airwatt as library
from airwatt.plots import compare as compare_picture
from airwatt.plots import sequence, style, timeline
from airwatt.reproductions.picture import _bars, _lines, make_room_for_legends
from airwatt.reproductions.publication import Bars, Lines, Value

CAPTURE = "captures/tcp-download.pcapng"


def _size(path):
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "fast-dsl", *SHORT, "--policy", "psm"],
        ["run", "fast-dsl", *SHORT, "--policy", "active"],
        ["compare", "fast-dsl", *SHORT, "--policy", "active,psm,timeout"],
        ["run", "fast-dsl", *SHORT, "--policy", "ba-ta"],
        ["run", "fast-dsl", *SHORT, "--policy", "ba-ta", "--set", "station.count=2"],
        [
            "compare",
            "fast-dsl",
            "--policy",
            "all",
            "--set",
            "flow.application.kind=web",
            "--set",
            "flow.application.count=1",
        ],
        ["analyze", CAPTURE],
    ],
    ids=["run-psm", "run-active", "compare", "run-ba-ta", "run-two", "compare-pages", "analyze"],
)
def test_pictures(airwatt, tmp_path, arguments):
    path = tmp_path / "picture.png"
    answer = airwatt(*arguments, "--plot", path)
    assert answer.status == 0, answer.err
    assert answer.err == f"wrote {path}\n"
    width, height = _size(path)
    assert 1000 < width < 2500
    assert 300 < height < 3000


def test_no_cause_has_the_colour_of_a_radio_state():
    # But for the two that are states as well.
    causes = {name: colour for name, colour in style.CAUSES.items() if name not in ("wake up", "doze")}
    both = [*causes.values(), *style.STATES.values(), style.DELAY, style.WRONG, style.BUFFERED]
    assert len({colour.lower() for colour in both}) == len(both)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_documents_give_equal_files(tmp_path, suffix):
    compared = library.compare("fast-dsl", policy=["active", "psm"], set={"flow.application.size": "1MB"})
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    compare_picture.draw(compared.scenario, compared.rows, first)
    compare_picture.draw(compared.scenario, compared.rows, second)
    assert first.read_bytes() == second.read_bytes()


def test_a_comparison_where_nothing_completed(tmp_path):
    comparison = library.compare(
        "fast-dsl", policy=["active", "psm"], set={"flow.application.size": "1GB", "duration": "2s"}
    )
    compare_picture.draw(comparison.scenario, comparison.rows, tmp_path / "x.png")


@pytest.mark.parametrize(("entries", "label"), [(4, "psm"), (4, "psm-throttling, fast-dsl, slow Wi-Fi"), (60, "psm")])
def test_a_legend_is_never_clipped(entries, label):
    figure = Figure(figsize=(8.4, 4.4))
    axes = figure.subplots()
    figure.subplots_adjust(left=0.085, right=0.74, bottom=0.135, top=0.83)
    for index in range(entries):
        axes.plot([0, 1], [0, index], label=f"{label} {index}")
    width_inches = axes.get_position().width * 8.4
    make_room_for_legends(figure, [axes])
    box = axes.get_legend().get_window_extent()
    assert box.x1 < figure.bbox.x1
    assert box.y0 > 0
    assert axes.get_position().width * figure.get_size_inches()[0] == pytest.approx(width_inches)


def test_panels_with_the_same_curves_have_one_legend_and_a_lone_curve_none():
    figure = Figure(figsize=(8.4, 4.4))
    panels = list(figure.subplots(2, 1))
    for axes in panels:
        axes.plot([0, 1], [0, 1], label="reno")
    make_room_for_legends(figure, panels)
    assert [axes.get_legend() is None for axes in panels] == [False, True]
    alone = Figure()
    axes = alone.subplots()
    axes.plot([0, 1], [0, 1], label="here")
    make_room_for_legends(alone, [axes])
    assert axes.get_legend() is None


def test_curves_that_coincide_all_show():
    axes = Figure().subplots()
    values = [
        Value("energy", {"transport": name, "x": x}, 1.0, None, "J") for name in ("reno", "sack") for x in (1.0, 2.0)
    ]
    _lines(axes, Lines("energy", "x", ("transport",), "x", "J"), values, [])
    beneath, above = (line.get_linewidth() for line in axes.lines[:2])
    assert beneath > 1.5 * above


def test_no_colour_of_a_curve_comes_twice_and_none_lies_on_the_edge():
    axes = Figure().subplots()
    values = [Value("rate", {"q": q, "x": x}, 0.98, None, "Mbps") for q in range(9) for x in (1.0, 2.0)]
    _lines(axes, Lines("rate", "x", ("q",), "x", "Mb/s"), values, [])
    assert len({line.get_color() for line in axes.lines}) == 9
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_ylim()[1] > 1.0


def test_the_sequence_numbers_of_a_connection_are_those_of_its_run(tmp_path):
    """345 segments of 1,448 bytes and one of 440 make 500 kB. Those that the queue dropped come later than others."""
    capture = tmp_path / "air.pcapng"
    keys = {"tcp.profile": "linux", "flow.application.size": "500kB", "transport": "cubic"}
    run = library.laboratory.run("fast-dsl", set=keys, trace=True)
    run.write_pcapng(capture)
    found = sequence.connection(capture)
    assert len(found.repeated) == run.flows[0].segments_retransmitted > 0
    assert sorted(place for _, place in found.data + found.repeated) == [1448 * index for index in range(346)]
    assert max(place for _, place in found.acknowledged) in (500_000, 500_001)
    sequence.draw("one", {"simulated": capture}, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 10_000


def test_ten_kinds_of_bars_look_different():
    axes = Figure().subplots()
    values = [Value("energy", {"transport": f"t{kind}", "place": "here"}, 1.0 + kind, None, "J") for kind in range(10)]
    _bars(axes, Bars("energy", "place", ("transport",), "J"), values, [])
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in axes.patches}
    assert len(looks) == 10


NAMED = """
name = "named"
duration = "1s"
node = [{ name = "server" }, { name = "ap" }, { name = "phone" }]
[[link]]
name = "backhaul"
between = ["server", "ap"]
delay = "10ms"
forward = { rate = "5Mbps", queue = "100packets" }
reverse = { rate = "5Mbps", queue = "100packets" }
[[cell]]
name = "home"
wifi = "fast-wifi"
access_point = { node = "ap" }
station = [{ node = "phone", radio = "broadcom-4311", power_save = { policy = "psm" } }]
[[flow]]
from = "server"
to = "phone"
transport = "cubic"
application = { kind = "bulk" }
"""


@pytest.mark.parametrize(
    ("scenario", "shown", "absent"),
    [
        (NAMED, ["backhaul\nforward queue\n(packets)", "radio of\nstation phone"], "DSLAM"),
        ("fast-dsl", ["DSLAM\nqueue\n(packets)", "radio of\nstation 0"], "wire"),
    ],
)
def test_a_time_line_has_the_names_that_a_scenario_gives(tmp_path, monkeypatch, scenario, shown, absent):
    if "\n" in scenario:
        (tmp_path / "named.toml").write_text(scenario)
        scenario = tmp_path / "named.toml"
    labels = []
    monkeypatch.setattr(style, "save", lambda figure, _: labels.extend(one.get_ylabel() for one in figure.axes))
    result = library.run(scenario, set={"duration": "1s"}, trace=True)
    timeline.draw(result, result.traces(), tmp_path / "x.png")
    assert set(shown) <= set(labels)
    assert absent not in " ".join(labels)


def test_the_detail_of_a_run_has_a_transmission():
    """500 ms two thirds into a minute miss a report each 30 s: its exchange is shown from its begin."""
    report = np.array([0.0, 0.07, 0.12, 30.0, 30.07, 30.12])
    begin, end = timeline._zoom(60.0, report)
    assert (begin, end) == pytest.approx((29.95, 30.45))
    assert timeline._zoom(60.0, np.array([39.7])) == pytest.approx((39.6, 40.1))
    assert timeline._zoom(60.0, np.array([])) == pytest.approx((39.6, 40.1))
    assert timeline._zoom(0.3, np.array([0.1])) == pytest.approx((0.0, 0.3))
