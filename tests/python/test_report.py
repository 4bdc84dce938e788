"""`airwatt report`: what the page holds, what it is made of, and what a browser makes of it."""

import base64
import json
import random
import re
import shutil
import zlib

import browser
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SHORT

import airwatt as package
from airwatt.reports import answers, sources, timeline
from airwatt.reports.matched import Sample, difference, in_all
from airwatt.reports.pack import Pack
from airwatt.reports.study import Choice
from airwatt.statistics import Estimate, estimate
from airwatt.sweeps.journal import Entry
from airwatt.sweeps.store import Files
from airwatt.tables import percent, quantity

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"
KINDS = {"u8": "u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}


class Page:
    """A report as its script reads it."""

    def __init__(self, path):
        self.text = path.read_text()
        (view,) = re.findall(r'<script type="application/json" id="view">(.*?)</script>', self.text, re.DOTALL)
        (arrays,) = re.findall(r'id="arrays">(.*?)</script>', self.text, re.DOTALL)
        self.view = json.loads(view)
        self._blob = zlib.decompress(base64.b64decode(arrays)) if arrays else b""

    def array(self, index):
        place = self.view["arrays"][index]
        offset, length = place["offset"], place["length"]
        if place["kind"] != "time":
            return np.frombuffer(self._blob, KINDS[place["kind"]], length, offset)
        low = np.frombuffer(self._blob, "<u4", length, offset).astype(np.int64)
        high = np.frombuffer(self._blob, "<u4", length, offset + 4 * length).astype(np.int64)
        return np.cumsum((high << 32) + low)


@pytest.fixture
def report(airwatt, tmp_path):
    def make(*arguments):
        path = tmp_path / "report.html"
        answer = airwatt("report", *arguments, "-o", path)
        assert answer.status == 0, answer.err
        return Page(path)

    return make


def lane(study, label, of=0):
    return next(one for one in study["timelines"][of]["lanes"] if one["label"] == label)


def spent(page, found):
    """Nanoseconds in each kind of a lane of states."""
    start = page.array(found["start"])
    durations = np.diff(np.append(start, found["end_ns"]))
    return dict(
        zip(found["names"], np.bincount(page.array(found["code"]), durations, len(found["names"])), strict=True)
    )


def test_a_scenario_is_simulated_and_its_page_has_the_numbers_of_compare(airwatt, report):
    asked = ["fast-dsl", *SHORT, "--policy", "active,psm,ideal", "--runs", "2"]
    page = report(*asked, "--battery", "1000mAh@3.7V")
    (study,) = page.view["studies"]
    rows = airwatt("compare", *asked, "--json").json["rows"]
    assert [choice["label"] for choice in study["choices"]] == ["active", "psm", "ideal"]
    for choice, row in zip(study["choices"], rows, strict=True):
        energies = [run["stations"][0]["energy_j"] for run in row["runs"]]
        assert choice["values"]["energy_j"] == pytest.approx(energies)
        assert choice["metrics"]["energy_j"][0] == pytest.approx(sum(energies) / 2)
        assert sum(choice["causes"].values()) == pytest.approx(sum(energies) / 2)
        bounds = [run["stations"][0]["lower_bound_j"] for run in row["runs"]]
        assert choice["metrics"]["bound_j"][0] == pytest.approx(sum(bounds) / 2)
        assert choice["metrics"]["lasts_s"][0] > 3600
    assert [choice["label"] for choice in study["choices"] if choice["best"]] == ["psm"]
    assert study["answers"][0].startswith("psm spends least of 2 choices")
    assert any("1000mAh@3.7V lasts" in text for text in study["answers"])


def test_the_page_of_a_capture_with_a_strange_name_holds_nothing_that_a_terminal_obeys(airwatt, report, tmp_path):
    capture = tmp_path / "a\x1b]0;owned\x07<b>.pcapng"
    shutil.copy(CAPTURE, capture)
    page = report(capture)
    assert not set("\x1b\x07") & set(page.text)
    assert "<h1>a\\x1b]0;owned\\x07&lt;b&gt;" in page.text


def test_its_time_line_has_every_nanosecond_of_the_ledger_and_every_frame(report):
    page = report("fast-dsl", *SHORT, "--policy", "psm")
    (study,) = page.view["studies"]
    run = package.run("fast-dsl", policy="psm", set={"flow.application.size": "1MB"}, trace=True)
    radio = spent(page, lane(study, "radio of station0"))
    assert {name: ns / 1e9 for name, ns in radio.items()} == pytest.approx(dict(run.stations[0].state_s), abs=1e-9)
    frames = [one for one in study["timelines"][0]["lanes"] if one["kind"] == "frames"]
    assert sum(len(page.array(one["start"])) for one in frames) == run.traces()["frames"].num_rows
    channel = spent(page, lane(study, "channel"))
    busy = channel["one frame on the air"] + channel["a collision"]
    assert busy / sum(channel.values()) == pytest.approx(run.cell.airtime_utilization, rel=1e-6)
    outcomes = next(table for table in study["tables"] if table["id"] == "frames")
    assert sum(row[3] for row in outcomes["rows"]) == run.traces()["frames"].num_rows


def test_stations_and_the_ends_of_flows_have_the_names_of_the_scenario(report, tmp_path):
    path = tmp_path / "named.toml"
    path.write_text(
        """\
duration = "300ms"
node = [{ name = "server" }, { name = "router" }, { name = "sensor" }, { name = "phone" }]
[[flow]]
from = "server"
to = "phone"
application = { kind = "bulk" }
[[flow]]
from = "sensor"
to = "server"
application = { kind = "bulk" }
[[link]]
name = "wire"
between = ["server", "router"]
delay = "5ms"
forward = { rate = "9Mbps" }
reverse = { rate = "9Mbps" }
[[cell]]
name = "air"
wifi = "fast-wifi"
access_point = { node = "router" }
station = [{ node = "sensor" }, { node = "phone" }]
"""
    )
    page = report(path, "--policy", "active")
    (study,) = page.view["studies"]
    tables = {table["id"]: [row[0] for row in table["rows"]] for table in study["tables"]}
    assert tables["stations"] == ["active, sensor", "active, phone"]
    flows = next(table for table in study["tables"] if table["id"] == "flows")
    assert [column["label"] for column in flows["columns"][:3]] == ["", "from", "to"]
    assert [row[:3] for row in flows["rows"]] == [
        ["active, flow 0", "server", "phone"], ["active, flow 1", "sensor", "server"],
    ]  # fmt: skip
    assert {"active: sensor", "active: phone"} < set(tables["frames"])
    (line,) = study["timelines"]
    assert {"radio of sensor", "radio of phone"} < {one["label"] for one in line["lanes"]}
    (windows,) = [one for one in line["lanes"] if one["label"] == "congestion window"]
    assert [one["name"] for one in windows["series"]] == ["flow 0, server to phone", "flow 1, sensor to server"]
    assert "station 0" not in page.text


def test_a_page_with_fewer_points_keeps_durations_and_says_what_it_leaves_out(report):
    whole = report("fast-dsl", *SHORT, "--policy", "psm")
    part = report("fast-dsl", *SHORT, "--policy", "psm", "--points", "1000")
    of_whole, of_part = (spent(page, lane(page.view["studies"][0], "radio of station0")) for page in (whole, part))
    assert of_part == pytest.approx(of_whole, abs=3e4)
    note = part.view["studies"][0]["timelines"][0]["note"]
    assert "--points keeps more" in note
    assert whole.view["studies"][0]["timelines"][0]["note"] == ""


def test_thinned_periods_keep_the_time_in_each_state():
    random = np.random.default_rng(1)
    start = np.concatenate([[0], np.cumsum(random.integers(1, 10**6, 50_000))])
    code = random.integers(0, 5, len(start)).astype(np.uint8)
    window = timeline.window_of([start], int(start[-1]) + 500, 10_000)
    kept, kinds = timeline.thinned(start, code, 5, window)

    def totals(times, codes):
        return np.bincount(codes, np.diff(np.append(times, window.whole)), 5)

    assert len(kept) < 35_000
    assert (np.diff(kept) >= 0).all()
    assert totals(kept, kinds) == pytest.approx(totals(start, code), abs=len(kept))
    inside = (start > window.begin) & (start < window.end)
    assert np.isin(start[inside], kept).all()


def test_a_channel_is_idle_busy_or_has_a_collision():
    edges, code = timeline.occupancy(np.array([10, 40, 45, 80]), np.array([20, 10, 20, 5]))
    assert list(zip(edges.tolist(), code.tolist(), strict=True)) == [
        (0, 0), (10, 1), (30, 0), (40, 1), (45, 2), (50, 1), (65, 0), (80, 1), (85, 0),
    ]  # fmt: skip


def test_instants_of_days_are_exact():
    pack = Pack()
    times = np.array([0, 1, 4_294_967_296, 4_294_967_297, 8 * 86_400 * 10**9])
    place = pack.places[pack.add_times(times)]
    blob = zlib.decompress(base64.b64decode(pack.text()))
    low = np.frombuffer(blob, "<u4", 5, place["offset"]).astype(np.int64)
    high = np.frombuffer(blob, "<u4", 5, place["offset"] + 20).astype(np.int64)
    assert (np.cumsum((high << 32) + low) == times).all()
    with pytest.raises(ValueError, match="rise"):
        pack.add_times([2, 1])


def test_an_open_difference_is_said_to_be_open():
    def choice(label, energy, ci95):
        return Choice(label, {"energy_j": Estimate(energy, ci95), "power_w": Estimate(energy / 10, None)})

    near = answers.of_choices([choice("a", 1.0, 0.2), choice("b", 1.1, 0.2), choice("c", 3.0, 0.1)], None)
    assert "Between a and b the runs leave it open" in near[0].replace("Between it", "Between a")
    assert "leave it open" not in answers.of_choices([choice("a", 1.0, 0.01), choice("b", 1.1, 0.01)], None)[0]
    assert "the same" in answers.of_choices([choice("a", 1.0, 0.0), choice("b", 1.0, 0.0)], None)[0]


def half_finished(tmp_path, number, jobs, given):
    """A store of a sweep in which only some jobs have finished, and the store of the whole sweep."""
    whole = package.sweep("fast-dsl", **given, store=tmp_path / "whole")
    (plan,) = whole.plans(texts=True)
    half = Files.create(tmp_path / f"half{number}")
    half.add(plan)
    wanted = {(plan.points[point], seed) for point, seed in (plan.job(job) for job in jobs)}
    found = list(Files.open(whole.path).documents(wanted))
    half.write_chunk(f"x-0-000001-{len(found)}", [Entry(p, seed, 0.1, run, None, None) for p, seed, run in found])
    return tmp_path / f"half{number}"


LEAST = re.compile(r"(.*) spends least of .*less than ([^.]*)[.]")


@pytest.mark.parametrize("rtts", [["10ms", "40ms"], [f"{rtt}ms" for rtt in range(10, 140, 10)]])
def test_a_half_finished_store_gives_the_sign_of_the_finished_one_or_says_nothing(tmp_path, rtts):
    size = "100kB"
    given = {
        "over": {"wired.rtt": rtts}, "policy": ["active", "psm"], "runs": 3, "set": {"flow.application.size": size},
    }  # fmt: skip
    jobs = 2 * len(rtts) * 3
    draw = random.Random(1)
    whole = answers_of(half_finished(tmp_path, 0, range(jobs), given))
    assert whole
    spoken = 0
    for number in range(1, 26):
        # In the order of the grid, as a sweep that was interrupted leaves it, or anywhere, as shards do.
        count = draw.randrange(1, jobs)
        done = range(count) if number % 2 else draw.sample(range(jobs), count)
        said = answers_of(half_finished(tmp_path, number, done, given))
        spoken += bool(said)
        if said and (match := LEAST.match(said[0])):
            assert match.groups() == LEAST.match(whole[0]).groups(), (said[0], whole[0])
    assert 0 < spoken < 25


def answers_of(store):
    (study,) = sources.studies_of([str(store)], None, Pack())
    return study.answers


def test_a_number_is_a_condition_and_no_choice(tmp_path):
    """Nobody chooses a round-trip time. Where points differ in numbers alone they are called points."""
    given = {"over": {"wired.rtt": ["10ms", "90ms"]}, "runs": 2, "set": {"flow.application.size": "100kB"}}
    package.sweep("fast-dsl", **given, policy=["active", "psm"], store=tmp_path / "policies")
    (study,) = sources.studies_of([str(tmp_path / "policies")], None, Pack())
    assert study.answers[0].startswith("psm spends least of 2 choices: ")
    assert "over the 2 combinations" in study.answers[-1]
    assert "The choices of the answers are values of policy;" in study.notes[-1]
    # The page shows each point.
    assert [choice.label for choice in study.choices][1:3] == [
        "active, wired.rtt = 90.00 ms",
        "psm, wired.rtt = 10.00 ms",
    ]
    package.sweep("fast-dsl", **given, store=tmp_path / "numbers")
    assert " spends least of 2 points: " in answers_of(tmp_path / "numbers")[0]


def test_points_without_a_partner_take_no_label_from_the_others(tmp_path):
    """The grid that is compared lacks a point, and may lack a setting; each label keeps its numbers."""
    package.sweep(
        "fast-dsl", over={"wired.rtt": ["10ms", "90ms"]}, policy=["active", "psm"], runs=2, store=tmp_path / "store",
        where="wired.rtt < 90ms or policy == active", set={"flow.application.size": "100kB"},
    )  # fmt: skip
    (study,) = sources.studies_of([str(tmp_path / "store")], None, Pack())
    (points,) = [table for table in study.tables if table.id == "points"]
    energy = [column.key for column in points.columns].index("energy_j")
    of_points = {row[0]: row[energy] for row in points.rows}
    assert len(of_points) == 3
    of_choices = {choice.label: choice.mean("energy_j") for choice in study.choices}
    assert list(of_choices) == ["active, wired.rtt = 10.00 ms", "psm, wired.rtt = 10.00 ms"]
    assert all(of_points[label] == pytest.approx(energy_j) for label, energy_j in of_choices.items())


def test_the_interval_of_the_paired_difference_decides():
    def choice(label, energies):
        seeds = np.arange(len(energies))
        sample = Sample(np.zeros(len(energies), np.int64), seeds, np.array(energies))
        return Choice(label, {"energy_j": estimate(energies), "power_w": Estimate(1.0, None)}, sample=sample)

    # Seeds differ far more than the choices do, but each by the same.
    noise = [1.0, 5.0, 3.0, 8.0]
    clear = answers.of_choices([choice("a", noise), choice("b", [value + 0.5 for value in noise])], None)
    assert clear[0].startswith("a spends least of 2 choices")
    mixed = answers.of_choices([choice("a", noise), choice("b", [1.4, 4.9, 3.3, 7.8])], None)
    assert "no difference between a and b" in mixed[0]


def test_what_the_cheapest_choice_delivers_stands_beside_what_it_saves(airwatt, report, tmp_path):
    """In runs of fixed length power save may spend less because it delivers less."""
    asked = ["fast-dsl", "--set", "duration=4s"]
    (study,) = report(*asked, "--policy", "active,psm", "--runs", "3").view["studies"]
    active, psm = (choice["metrics"]["delivered_bytes"][0] for choice in study["choices"])
    assert psm < 0.9 * active
    less = percent(1 - psm / active)
    assert study["answers"][0].endswith(f"It delivered {quantity(psm, 'B')}, {less} less than active.")
    store = tmp_path / "store"
    assert airwatt("sweep", *asked, "--policy", "active,psm", "--runs", "3", "--store", store).status == 0
    assert answers_of(store)[0] == study["answers"][0]
    # Whole transfers deliver the same.
    (study,) = report("fast-dsl", *SHORT, "--policy", "active,psm", "--runs", "3").view["studies"]
    assert "delivered" not in study["answers"][0]


def test_a_delivered_amount_that_the_runs_leave_open_is_not_said():
    def choice(label, energy, delivered):
        seeds = np.arange(len(delivered))
        same, mine = (Sample(np.zeros(len(seeds), np.int64), seeds, np.array(one)) for one in ([energy] * 4, delivered))
        metrics = {"energy_j": estimate([energy] * 4), "power_w": Estimate(1.0, None)}
        return Choice(label, metrics | {"delivered_bytes": estimate(delivered)}, sample=same, delivered=mine)

    noise = [1e6, 5e6, 3e6, 8e6]
    less = [choice("a", 1.0, noise), choice("active", 2.0, [value + 1e6 for value in noise])]
    assert "It delivered 4.25 MB, 19.0 % less than active." in answers.of_choices(less, None)[0]
    open_ = [choice("a", 1.0, noise), choice("active", 2.0, [1.4e6, 4.9e6, 3.3e6, 7.8e6])]
    assert "delivered" not in answers.of_choices(open_, None)[0]


def test_differences_are_taken_over_matched_runs_alone():
    one = Sample(np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([1.0, 2.0, 10.0]))
    other = Sample(np.array([0, 1, 1]), np.array([2, 1, 2]), np.array([3.0, 12.0, 99.0]))
    mean, half = difference(one, other)
    assert mean == 1.5
    assert half == pytest.approx(0.5 * 12.706, rel=1e-3)
    groups = np.array([0, 0, 1, 1])
    assert in_all(groups, (np.array([7, 8, 8, 9]), np.array([1, 1, 1, 1]))).tolist() == [False, True, True, False]


def test_results_traces_and_captures_are_accepted(airwatt, report, tmp_path):
    traces, analysed = tmp_path / "traces", tmp_path / "analysed"
    for name, arguments in {
        "run.json": ["run", "fast-dsl", *SHORT, "--policy", "psm", "--trace", traces],
        "runs.json": ["run", "fast-dsl", *SHORT, "--policy", "uapsd", "--runs", "2"],
        "compare.json": ["compare", "web", "--set", "duration=5s", "--policy", "active,psm"],
        "analyze.json": ["analyze", CAPTURE, "--policy", "psm,ideal", "--trace", analysed],
    }.items():
        (tmp_path / name).write_text(airwatt(*arguments, "--json").out)
    names = ["run.json", "traces", "runs.json", "compare.json", "analyze.json", "analysed"]
    page = report(*(tmp_path / name for name in names))
    dsl, web, capture = page.view["studies"]
    assert [choice["label"] for choice in dsl["choices"]] == ["psm", "uapsd"]
    assert len(dsl["timelines"]) == 1
    assert [choice["label"] for choice in web["choices"]] == ["active", "psm"]
    assert capture["kind"] == "capture"
    assert {"psm: radio", "packets"} <= {one["label"] for one in capture["timelines"][0]["lanes"]}
    assert capture["choices"][1]["metrics"]["excess"][0] == 1.0


def test_a_capture_is_analysed(report):
    page = report(CAPTURE, "--policy", "active,psm,ideal")
    (study,) = page.view["studies"]
    document = package.analyze(CAPTURE, policies=["active", "psm", "ideal"]).to_dict()
    assert [choice["metrics"]["energy_j"][0] for choice in study["choices"]] == [
        policy["energy_j"] for policy in document["policies"]
    ]
    assert any("keep-alive" in text for text in study["answers"])
    radio = spent(page, lane(study, "psm: radio"))
    assert radio["sleep"] > radio["receive"] > 0


def test_frames_and_modes_of_stations_are_shown_as_captured(report):
    captures = ROOT.parent / "shared" / "captures"
    if not captures.exists():
        pytest.skip("the captures are not here")
    path = captures / "radiotap-ap-ping-ps.pcapng"
    page = report(path, "--policy", "psm")
    (study,) = page.view["studies"]
    line = package.analyze(path, policies=["psm"], trace=True).tables()
    frames = [one for one in study["timelines"][0]["lanes"] if one["label"].endswith("frames as captured")]
    assert frames
    assert sum(len(page.array(one["start"])) for one in frames) <= line["frames"].num_rows
    first = frames[0]
    mine = [
        name == first["label"].removesuffix(": frames as captured") for name in line["frames"]["station"].to_pylist()
    ]
    assert len(page.array(first["start"])) == sum(mine)
    assert any(one["label"].endswith("mode as captured") for one in study["timelines"][0]["lanes"])


def test_a_store_gives_means_over_its_settings(airwatt, report, tmp_path):
    store = tmp_path / "some.sweep"
    over = ["--over", "wired.rtt=20ms:60ms:20ms", "--policy", "active,psm", "--runs", "3"]
    assert airwatt("sweep", "fast-dsl", *SHORT, *over, "--store", store).status == 0
    page = report(store)
    (study,) = page.view["studies"]
    assert len(study["choices"]) == 6
    sweep = study["sweep"]
    assert [one["label"] for one in sweep["settings"]] == ["policy", "wired.rtt"]
    frame = package.open_store(store).to_pandas()
    grouped = frame.groupby(["policy", "wired.rtt_s"], sort=False).energy_j
    metric = sweep["metrics"][0]
    assert page.array(metric["mean"]) == pytest.approx(grouped.mean().to_numpy())
    ci95 = 4.302652729911275 * grouped.std().to_numpy() / 3**0.5
    assert page.array(metric["ci95"]) == pytest.approx(ci95, rel=1e-6)
    stations = package.open_store(store).to_pandas("stations")
    flows = stations.groupby(["policy", "wired.rtt_s"], sort=False)["energy_by_cause_j.flow.0"].mean()
    assert [choice["causes"]["flow"] for choice in study["choices"]] == pytest.approx(flows.to_list())
    policies = sweep["settings"][0]
    assert [policies["values"][code] for code in page.array(policies["codes"])] == ["active"] * 3 + ["psm"] * 3
    assert "psm at 3 (100.0 %)" in study["answers"][-1]


def test_a_store_of_an_earlier_version_lacks_columns(airwatt, report, tmp_path):
    store = tmp_path / "old.sweep"
    assert airwatt("sweep", "fast-dsl", *SHORT, "--runs", "2", "--store", store).status == 0
    # It had no checksums of footers either.
    shutil.rmtree(store / "footers")
    for chunk in store.glob("stations/*.parquet"):
        table = pq.read_table(chunk)
        pq.write_table(table.drop_columns(["energy_by_cause_j.group"]), chunk)
    (study,) = report(store).view["studies"]
    assert "group" not in study["choices"][0]["causes"]
    assert study["choices"][0]["causes"]["idle"] > 0


def test_a_page_asks_nobody_for_anything_and_has_its_licence(report):
    page = report("idle", "--set", "duration=5s", "--policy", "psm")
    assert "default-src 'none'" in page.text
    assert "connect-src 'none'" in page.text
    without_data = re.sub(r'<link rel="icon" href="data:,">', "", page.text)
    assert not re.search(r"<(link|img|iframe|object|embed)\b", without_data)
    assert not re.search(r"\b(src|href)=[\"']?(https?:|//)", page.text)
    assert "Copyright (c) 2022 Leon Sorokin" in page.text
    assert page.text.count("<script") == page.text.count("</script>") == 3


def test_names_are_no_markup(airwatt, report, tmp_path):
    document = airwatt("run", "idle", "--set", "duration=1s", "--json").json
    document["scenario"] = "</script><script>alert(1)</script><b>"
    (tmp_path / "x.json").write_text(json.dumps(document))
    page = report(tmp_path / "x.json")
    assert page.view["title"] == document["scenario"]
    assert "alert(1)</script>" not in page.text
    assert page.text.count("</script>") == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "line 1"),
        ('{"schema": 1}', "another JSON document"),
        ('{"schema": 9}', "schema"),
        ('{"schema": 1, "scenario": "x", "runs": []}', "runs"),
        ('{"schema": 1, "scenario": "x", "runs": [{}]}', "document of each run"),
        ('{"schema": 1, "scenario": "x", "stations": 5}', "document of each run"),
        ("[" * 100_000, "JSON"),
        ('{"schema": 1, "scenario": "x", "energy_j": NaN}', "JSON"),
        ('{"schema": 1, "scenario": "x", "energy_j": 1e999}', "JSON"),
    ],
)
def test_a_wrong_document_is_one_line(airwatt, tmp_path, content, words):
    (tmp_path / "x.json").write_text(content)
    answer = airwatt("report", tmp_path / "x.json", "-o", tmp_path / "x.html")
    assert answer.status == 2
    assert answer.is_one_line("x.json", words)
    assert not (tmp_path / "x.html").exists()


def test_what_is_no_source_is_one_line_and_leaves_the_old_page(airwatt, tmp_path):
    page = tmp_path / "x.html"
    page.write_text("old")
    (tmp_path / "empty").mkdir()
    for source in (tmp_path / "empty", "no-such", tmp_path / "none.json"):
        answer = airwatt("report", source, "-o", page)
        assert answer.status == 2
        assert answer.is_one_line(str(source))
    assert airwatt("report", "idle", "-o", tmp_path / "x.pdf").is_one_line("--out", ".html")
    assert airwatt("report", "idle", "-o", tmp_path / "none" / "x.html").status == 2
    assert page.read_text() == "old"


needs_chromium = pytest.mark.skipif(browser.PROGRAM is None, reason="chromium is not installed")


@pytest.mark.long
@needs_chromium
def test_a_browser_shows_it_without_errors_and_without_a_network(report, tmp_path):
    report("fast-dsl", "--set", "flow.application.size=5MB", "--policy", "active,psm,ideal", "--runs", "2")
    with browser.Browser() as page:
        page.open(f"file://{tmp_path / 'report.html'}")
        assert page.evaluate("document.querySelectorAll('section').length") >= 7
        # The time line has data from the whole run down to single frames.
        page.evaluate("airwatt.lines[0].choose(2)")
        told = page.evaluate("airwatt.lines[0].lanes.map((lane) => lane.spent(0, airwatt.lines[0].end))")
        assert any("sleep" in text for text in told)
        page.evaluate("document.querySelector('.timeline canvas').focus()")
        for key in ("ArrowDown", "n", "n"):
            page.press(key)
        page.evaluate("(() => { const l = airwatt.lines[0]; l.show(l.cursor - 2000, l.cursor + 200000); })()")
        page.wait("document.querySelector('.readout').textContent.includes('frame from')")
        assert page.evaluate("airwatt.lines[0].to - airwatt.lines[0].from") == pytest.approx(202_000, abs=1)
        assert page.evaluate("document.querySelector('.timeline canvas').getContext('2d') !== null")
        page.wait("location.hash.includes('time=2')")
        page.press("t")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.press("?")
        assert page.evaluate("document.getElementById('shortcuts').open")
        # Every control has a name; nothing is wider than a narrow screen.
        unnamed = "[...document.querySelectorAll('button, select, canvas, [role=img]')].filter("
        unnamed += "(one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"
        assert page.evaluate(unnamed) == 0
        page.screenshot(tmp_path / "narrow.png", width=360)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.pdf().startswith(b"%PDF")
        assert page.errors == []
        assert [url[:5] for url in page.requests if not url.startswith("data:")] == ["file:"]


@pytest.mark.long
@needs_chromium
def test_a_page_with_a_million_points_is_ready_within_five_seconds(tmp_path):
    random = np.random.default_rng(1)
    count = 1_000_000
    start = np.concatenate([[0], np.cumsum(random.integers(1_000, 20_000_000, count - 1))])
    states = ["transmit", "receive", "listen", "sleep", "to-sleep", "wake-up"]
    code = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 6, count), pa.int32()), pa.array(states))
    radios = {
        "time_ns": start,
        "duration_ns": np.diff(start, append=start[-1] + 1),
        "station": np.zeros(count, np.uint32),
        "state": code,
    }
    run = package.run("idle", set={"duration": "1s"}, trace=True)
    traces = {**run.traces(), "radio_states": pa.table(radios)}
    from airwatt.reports.page import report as page_of
    from airwatt.reports.runs import Group, study_of

    pack = Pack()
    study = study_of("a million", [Group("idle", [], traces)], pack, None, 2 * count)
    path = tmp_path / "million.html"
    path.write_text(page_of([study], pack, "test"))
    assert path.stat().st_size < 8_000_000
    with browser.Browser() as page:
        ready_s = page.open(f"file://{path}")
        points = page.evaluate("airwatt.lines[0].lanes.reduce((sum, lane) => sum + lane.points, 0)")
        assert points >= count
        begun = "(() => { const t = performance.now(); airwatt.lines[0].draw(); return performance.now() - t; })()"
        drawn_ms = page.evaluate(begun)
        print(f"ready after {ready_s:.2f} s, drawn in {drawn_ms:.0f} ms")
        assert ready_s < 5
        assert drawn_ms < 1000
        assert page.errors == []


@pytest.mark.parametrize("place", ["stations.0.energy_j", "flows.0.goodput_bps", "stations.0.state_s.sleep", "seed"])
@pytest.mark.parametrize("value", ["x", None, [], {}, True])
def test_a_document_with_a_wrong_value_is_refused_with_its_place(tmp_path, airwatt, place, value):
    document = airwatt("run", "fast-dsl", *SHORT, "--json").json
    *path, last = place.split(".")
    inner = document
    for part in path:
        inner = inner[int(part)] if isinstance(inner, list) else inner[part]
    inner[last] = value
    (tmp_path / "changed.json").write_text(json.dumps(document))
    answer = airwatt("report", tmp_path / "changed.json", "-o", tmp_path / "page.html")
    assert answer.status == 2
    assert answer.is_one_line("changed.json", f"{place}: expected a"), answer.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "text", ['{"schema": 1, "analyses": 3}', '{"schema": 1, "rows": [3]}', '{"schema": 1, "capture": 3}']
)
def test_another_document_is_refused(tmp_path, airwatt, text):
    (tmp_path / "other.json").write_text(text)
    answer = airwatt("report", tmp_path / "other.json", "-o", tmp_path / "page.html")
    assert answer.status == 2
    assert answer.is_one_line("other.json", "expected"), answer.err


def test_a_radio_that_cannot_join_is_noted(airwatt, report, tmp_path):
    """As `compare` and `sweep` note it: of a scenario, a store and a capture."""
    five = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps", "--set", "duration=5s"]
    scenario = ["idle", *five, "--set", "station.radio=esp32-c3", "--policy", "psm"]
    store, capture = tmp_path / "store", tmp_path / "own.pcapng"
    assert airwatt("sweep", *scenario, "--store", store).status == 0
    assert airwatt("run", *scenario, "--pcap", capture).status == 0
    alone = "esp32-c3 has 2.4 GHz alone, so that it cannot join: figures are of no real device"
    for given in (scenario, [store], [capture, "--policy", "psm"]):
        (study,) = report(*given).view["studies"]
        assert any(alone in note for note in study["notes"]), given
    asked = ["analyze", capture, "--policy", "psm"]
    assert alone in " ".join(airwatt.output(asked).split())
    assert "the cell is at" not in airwatt.output([*asked, "--radio", "esp32-c5-5ghz"])
