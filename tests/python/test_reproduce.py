"""`airwatt reproduce`: ids, points that run once, claims, documents and files, with made-up runs instead of
expensive ones."""

import csv
import dataclasses
import json

import pytest

from airwatt import _core, open_store
from airwatt.reproductions import catalogue, claims, document, engine, picture, publication
from airwatt.reproductions.ba_ta import figures
from airwatt.reproductions.hashimoto_2013 import validation
from airwatt.reproductions.publication import Claim, Document, Lines, Outcome, Point, Reproduction, Results, Value
from airwatt.reproductions.series import Series


def measure(result):
    return {"events": float(result["events"])}


def point(size="100kB"):
    return Point("fast-dsl", (("flow.application.size", size),), measure)


def counted(place, *points):
    """A reproduction whose values are the numbers of events of its points."""

    def compute(_item, results):
        values = []
        for index, needed in enumerate(points):
            column = results.column(needed, "events")
            values.append(Value("events", {"point": float(index + 1)}, sum(column) / len(column), None, ""))
        return Outcome(values, [Claim(f"made-up/{place}.any", "something happens", 1.0, values[0].value, "", True)])

    return Reproduction(place, f"Events of {place}", compute, points, Lines("events", "point", (), "point", "events"))


def made_up(*reproductions):
    return Document("made-up", "s999", "nobody, nowhere", "nothing is open", reproductions)


def chosen(*reproductions):
    home = made_up(*reproductions)
    return [(home, item) for item in reproductions]


def test_what_several_reproductions_share_runs_once(monkeypatch):
    ran = []
    run = _core.run
    monkeypatch.setattr(_core, "run", lambda scenario, seed, **_: ran.append(seed) or run(scenario, seed))
    batch = engine.reproduce(chosen(counted("fig1", point()), counted("fig2", point(), point("200kB"))), 3, 5)
    assert sorted(ran) == [5, 5, 6, 6, 7, 7]
    assert [item.id for item in batch.finished] == ["made-up/fig1", "made-up/fig2"]
    assert batch.finished[0].outcome.values[0] == batch.finished[1].outcome.values[0]


def test_the_same_seed_gives_the_same_document():
    both = [engine.reproduce(chosen(counted("fig1", point())), 2, 1) for _ in range(2)]
    documents = [document.document(batch.finished, {}, 2, 1) for batch in both]
    assert documents[0] == documents[1]


def test_a_run_that_fails_misses_the_reproductions_that_need_it_and_no_other():
    endless = Point("fast-dsl", (("duration", "1ms"),), measure)
    results = Results({point(): [{"events": 1.0}]}, {endless: "it gave up"})
    good, bad = counted("fig1", point()), counted("fig2", endless)
    home = made_up(good, bad)
    assert engine._outcome(home, good, results).claims[0].holds
    failed = engine._outcome(home, bad, results)
    assert [(claim.here, claim.holds) for claim in failed.claims] == [("it gave up", False)]


def test_a_wrong_scenario_is_said_before_anything_runs():
    wrong = Point("fast-dsl", (("flow.application.size", "many"),), measure)
    with pytest.raises(_core.InputError, match=r"flow.application.size"):
        engine.reproduce(chosen(counted("fig1", point(), wrong)), 1, 1)


def test_files_hold_the_values(tmp_path):
    batch = engine.reproduce(chosen(counted("fig1", point(), point("200kB"))), 2, 1)
    written = document.write(batch.finished[0], tmp_path)
    assert [path.name for path in written] == ["fig1.csv", "fig1.png"]
    rows = list(csv.DictReader(written[0].read_text().splitlines()))
    assert [row["point"] for row in rows if row["point"]] == ["1.0", "2.0"]
    assert float(rows[0]["value"]) == pytest.approx(batch.finished[0].outcome.values[0].value, rel=1e-5)
    assert written[1].read_bytes().startswith(b"\x89PNG")


def test_a_printed_number_of_a_claim_stands_in_the_csv(monkeypatch):
    batch = engine.reproduce(chosen(counted("fig1", point())), 2, 1)
    found = [
        claims.within("a", "average", 441.0, 439.2, 0.3, "%"),
        claims.true("b", "order", "x < y", "x 1, y 2", "", True),
    ]
    monkeypatch.setattr(batch.finished[0].outcome, "claims", found)
    rows = list(csv.DictReader(document.values_csv(batch.finished[0]).splitlines()))
    printed = [
        (row["what"], row["point"], row["value"], row["unit"], row["published"]) for row in rows if row["published"]
    ]
    # An order is words, so that the column of values keeps numbers alone.
    assert printed == [("average", "", "439.2", "%", "441"), ("order", "", "", "", "x < y")]


def test_a_picture_lists_its_claims_below_the_axes(tmp_path, monkeypatch):
    batch = engine.reproduce(chosen(counted("fig1", point())), 2, 1)
    sizes = []
    for several in (0, 1, 12):
        found = [claims.within("a", "average " * 20, 441.0, 439.2, 0.3, "%")] * several
        monkeypatch.setattr(batch.finished[0].outcome, "claims", found)
        figures = []
        monkeypatch.setattr(picture.style, "save", lambda figure, _path, figures=figures: figures.append(figure))
        picture.draw(batch.finished[0], tmp_path / "f.png")
        texts = [text.get_text() for text in figures[0].texts]
        assert texts.count("printed 441 %") == texts.count("here 439 %") == several
        axes = figures[0].axes[0].get_window_extent()
        claimed = [
            t.get_window_extent() for t in figures[0].texts if t.get_text().startswith(("average", "printed", "here"))
        ]
        assert all(box.y0 >= 0 and box.y1 < axes.y0 for box in claimed)
        sizes.append((round(axes.width), round(axes.height)))
    assert len(set(sizes)) == 1, "the axes keep their size"


# Ids.


def test_ids_in_all_their_forms():
    named = {item.place for _, item in catalogue.choose(["e2tcp/ex4.4"])}
    assert named == {"ex4.4"}
    assert catalogue.choose(["s002.ex4.4"]) == catalogue.choose(["e2tcp/ex4.4"])
    assert catalogue.choose(["s002"]) == catalogue.choose(["e2tcp"])
    assert catalogue.choose(["e2tcp/ex4.4", "e2tcp"]) == catalogue.choose(["e2tcp"]), "each once"
    ids = [home.id(item) for home, item in catalogue.choose(["all"])]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("wrong", ["e2tcp/fig99", "s002.fig99", "s009", "E2TCP", "", "e2tcp/"])
def test_an_unknown_id_is_one_line_and_status_2(airwatt, wrong, tmp_path):
    answer = airwatt("reproduce", wrong, "--out", tmp_path)
    assert answer.status == 2
    assert answer.is_one_line(repr(wrong), "expected all, hashimoto-2013, ba-ta, e2tcp")


def test_an_id_that_is_nearly_right_gets_a_hint(airwatt, tmp_path):
    assert "e2tcp/ex4.4" in airwatt("reproduce", "e2tcp/ex4,4", "--out", tmp_path).err


# Claims.


def series(name, *columns):
    return Series(name, "EO", "%", {}, "good_s", {float(x): list(column) for x, column in enumerate(columns)})


def test_numbers_within_bounds():
    assert claims.within("a", "", 10.0, 12.9, 0.3).holds
    assert not claims.within("a", "", 10.0, 13.1, 0.3).holds
    assert claims.by_factor("a", "", 10.0, 5.0, 2).holds
    assert not claims.by_factor("a", "", 10.0, 20.1, 2).holds
    assert claims.between("a", "", "about 5", 3.5, 3.5, 6.5).holds
    assert claims.rounded("a", "", 67.0, 66.667, 0.5).holds
    assert not claims.exactly("a", "", "7, 8", "7, 9").holds


def test_an_order_at_every_point_names_where_it_does_not_hold():
    low, high = series("low", [1, 3], [4, 6], [9, 9.1]), series("high", [2, 4], [4, 5], [5, 5.2])
    claim = claims.lower_everywhere("a", low, [high])
    assert not claim.holds
    # The paired differences at the second place are 0 and -1, which two runs do not tell from zero.
    assert claim.here == "at 1 of 3 points; a tie at 1; not at 2"
    assert claim.verdict == "missed"
    tie = claims.lower_everywhere("a", series("low", [1, 3], [4, 6]), [series("high", [2, 4], [4, 5])])
    assert (tie.verdict, tie.holds) == ("tie", False)
    assert claims.lower_everywhere("a", low, [series("high", *[[20, 21]] * 3)]).holds


def test_a_tie_holds_where_the_difference_is_printed_as_slight():
    low, high = series("low", [1, 3], [4, 6]), series("high", [2, 4], [4, 5])
    claim = claims.lower_everywhere("a", low, [high], slight=True)
    assert (claim.verdict, claim.holds) == ("tie", True)


def test_a_ratio_with_a_bound_of_one_is_an_order():
    """Means of 2 and 2.2 alone say "above 1"; the runs do not."""
    plain, other = [1.0, 2.0, 3.0], [3.2, 2.2, 1.2]
    tie = claims.ratio("a", "", "above 1", other, plain, 1.0, 2.0)
    assert (tie.here, tie.verdict, tie.holds) == (pytest.approx(1.1), "tie", False)
    assert claims.ratio("a", "", "slightly lower", plain, other, 0.75, 1.0, slight=True).holds
    assert claims.ratio("a", "", "above 1", [1.1, 2.1, 3.1], plain, 1.0, 2.0).verdict == "holds"
    assert claims.ratio("a", "", "above 1", plain, [1.1, 2.1, 3.1], 1.0, 2.0).verdict == "missed"
    assert claims.ratio("a", "", "above 1", [5.0, 6.0, 7.0], plain, 1.0, 2.0).verdict == "missed"


def test_a_slight_order_is_missed_where_the_opposite_is_certain():
    low, high = series("low", [5, 7, 9]), series("high", [4, 6, 8.1])
    assert claims.lower_everywhere("a", low, [high], slight=True).verdict == "missed"


def test_differences_are_paired_by_the_seed():
    """Means that differ by less than their runs do, but by the same in every run."""
    assert claims.order([1.0, 5.0, 9.0], [1.1, 5.1, 9.12]) == "holds"
    assert claims.order([1.0, 5.0, 9.0], [5.1, 9.2, 1.1]) == "tie"
    assert claims.order([2.0], [1.0]) == "missed", "a single run is compared as it is"
    assert claims.order([2.0], [2.0]) == "tie"


def test_orders_of_ratios_and_gaps_are_paired_by_the_seed_too():
    """Means alone have each of these orders; two runs decide none of them."""
    low, high = series("active", [4.0, 4.0], [9.0, 7.0]), series("psm", [1.0, 3.0], [2.0, 5.0])
    curves = {f"{one.name}, {wifi}": one for one in (low, high) for wifi in figures.SETS}
    gap = [claim for claim in figures._rtt_energy("a", curves, None) if ".gap." in claim.id]
    assert [(claim.verdict, claim.holds) for claim in gap] == [("tie", False)] * 2
    below = {cross: [1.0, 1.2] for cross in validation.CROSS_MBPS} | {28: [2.0, 2.1], 29: [1.0, 4.0]}
    under = validation._error_orders("a", below)[1]
    # Equal at 22 and 25 Mb/s, and at 29 not certainly more than at 28.
    assert under.verdict == "tie"
    assert under.here == "1.1, 1.1, 2.0, 2.5"


def test_averages_in_order():
    assert claims.ascending("a", "", {"x": [1, 2], "y": [2, 3]}).holds
    missed = claims.ascending("a", "", {"x": [2, 3], "y": [1, 2]})
    assert not missed.holds
    assert missed.here == "y 1.5, x 2.5"


def test_a_claim_about_one_trace_is_scored_by_the_share_of_runs():
    most = claims.in_most_runs("a", "", ("x", [1, 2, 9]), ("y", [2, 3, 4]), "s")
    assert most.holds
    assert most.here == "in 67 % of the runs; y less x: -1 s, ±3.46 from run to run"
    assert claims.in_most_runs("a", "", ("x", [1, 2]), ("y", [0, 3])).verdict == "tie"


def test_a_curve_that_rises():
    assert claims.rises("a", series("up", [1, 1.2], [2, 2.1], [1.9, 2.2], [4, 4])).holds
    assert not claims.rises("a", series("up", [1, 1.01], [0.5, 0.51], [4, 4])).holds


def test_totals_count_ties_and_what_is_open_apart():
    some = [
        claims.ascending("held", "", {"x": [1, 2], "y": [2, 3]}),
        claims.ascending("missed", "", {"x": [2, 3], "y": [1, 2]}),
        claims.ascending("strict", "", {"x": [1, 2], "y": [0, 3]}),
        claims.ascending("slight", "", {"x": [1, 2], "y": [0, 3]}, slight=True),
        claims.undecidable(claims.exactly("open", "text", 1.0, 2.0), "nothing says it"),
    ]
    total = publication.tally(some)
    assert (total.holds, total.missed, total.tie, total.strict_ties, total.undecidable) == (1, 1, 2, 1, 1)
    assert str(total) == "5 claims: 1 hold, 1 missed, 2 ties, 1 of them against a strict order, 1 undecidable"


def test_calibrated_claims_are_counted_apart():
    held = claims.exactly("a", "", 1.0, 1.0)
    more = [
        dataclasses.replace(held, calibrated=True),
        dataclasses.replace(claims.exactly("b", "", 1.0, 2.0), calibrated=True),
    ]
    total = publication.tally([held, *more])
    assert (total.claims, total.holds, total.missed, total.calibrated, total.calibrated_holds) == (1, 1, 0, 2, 1)
    assert str(total) == "1 claims: 1 hold, 0 missed, 0 ties; beside them 2 calibrated: 1 hold"


def test_tables_whose_numbers_decided_settings_are_calibrated():
    [home] = [document for document in catalogue.documents() if document.name == "e2tcp"]
    assert [item.place for item in home.reproductions if item.calibrated] == ["tab5.2", "tab5.3", "tab5.4"]
    calibrated = publication.Reproduction(
        "a", "", lambda _item, _results: publication.Outcome(claims=[claims.exactly("a", "", 1.0, 1.0)]), calibrated="x"
    )
    outcome = engine._outcome(home, calibrated, publication.Results({}))
    assert [claim.calibrated for claim in outcome.claims] == [True]
    assert outcome.notes == ["Calibrated: x"]


# The command.


def test_text_fits_80_columns_and_counts(airwatt, tmp_path):
    answer = airwatt("reproduce", "e2tcp/ex4.4", "e2tcp/fig4.10", "--out", tmp_path)
    assert answer.status == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "2 reproductions, 5 claims: 5 hold, 0 missed, 0 ties" in answer.out
    assert answer.err == ""


def test_the_document_is_that_of_the_contract(airwatt, tmp_path):
    answer = airwatt("reproduce", "s002.ex2.5", "--out", tmp_path, "--json")
    assert answer.status == 0
    made = answer.json
    assert made["schema"] == 1
    [result] = made["results"]
    assert result["id"] == "e2tcp/ex2.5"
    assert result["values"] == [{"what": "TO", "at": {}, "value": 50.0, "ci95": None, "unit": "%"}]
    [claim] = result["claims"]
    assert {key: claim[key] for key in ("id", "paper", "here", "tolerance", "holds", "verdict")} == {
        "id": "e2tcp/ex2.5.to",
        "paper": 50.0,
        "here": 50.0,
        "tolerance": "exact",
        "holds": True,
        "verdict": "holds",
    }
    assert result["files"] == [str(tmp_path / "e2tcp" / "ex2.5.csv")]


def test_the_runs_are_kept_beside_the_pictures(airwatt, tmp_path):
    command = ("reproduce", "e2tcp/ex3.2", "--out", tmp_path)
    kept = tmp_path / "runs"
    first = airwatt(*command, "--json")
    assert first.json["store"] == str(kept)
    assert open_store(kept).to_arrow("runs", ["seed"]).num_rows > 0
    assert "runs finished" in airwatt("sweep", "status", kept).out
    chunks = sorted((kept / "runs").iterdir())
    assert f"runs: {kept}" in " ".join(airwatt(*command).out.split())
    assert airwatt(*command, "--json").out == first.out
    # What is there was not made again.
    assert sorted((kept / "runs").iterdir()) == chunks


@pytest.mark.parametrize(
    ("runs", "said"),
    [(1, "1 reading was damaged, and made again from its run"), (2, "2 readings were damaged, and made again from")],
)
def test_damaged_readings_are_one_line_and_a_store_of_readings_has_no_plan(airwatt, tmp_path, runs, said):
    command = ["reproduce", "singh-2002/fig1", "--out", tmp_path, "--runs", runs]
    first = airwatt(*command)
    assert (first.status, "runs:" in first.out, "damaged" in first.err) == (0, False, False)
    for path in (tmp_path / "runs" / "readings").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    again = airwatt(*command)
    assert (again.status, again.out) == (0, first.out)
    (line,) = (line for line in again.err.splitlines() if "damaged" in line)
    assert line.startswith(f"airwatt: {tmp_path / 'runs' / 'readings'}: {said}")


def test_equations_have_no_runs_to_keep(airwatt, tmp_path):
    assert "store" not in airwatt("reproduce", "s002.ex2.5", "--out", tmp_path, "--json").json
    assert not (tmp_path / "runs").exists()


def test_a_missed_claim_is_status_1_and_a_threshold_is_3(airwatt, tmp_path, monkeypatch):
    wrong = Reproduction("ex1", "A claim", lambda _item, _results: Outcome(claims=[claims.exactly("a", "", 1.0, 2.0)]))
    monkeypatch.setattr(catalogue, "documents", lambda: [made_up(wrong)])
    answer = airwatt("reproduce", "made-up/ex1", "--out", tmp_path)
    assert answer.status == 1
    assert "MISSED" in answer.out
    assert airwatt("reproduce", "all", "--out", tmp_path, "--fail-if", "results.0.claims.0.here > 1").status == 3


def test_a_calibrated_claim_that_is_missed_is_no_failure(airwatt, tmp_path, monkeypatch):
    def compute(_item, _results):
        return Outcome(claims=[claims.exactly("a", "", 1.0, 2.0), claims.exactly("b", "", 1.0, 1.0)])

    calibrated = Reproduction("ex1", "A claim", compute, calibrated="a setting")
    monkeypatch.setattr(catalogue, "documents", lambda: [made_up(calibrated)])
    answer = airwatt("reproduce", "made-up/ex1", "--out", tmp_path)
    assert "missed: a (calibrated)" in answer.out
    assert answer.status == 0


def test_the_list_has_what_each_costs(airwatt):
    answer = airwatt("reproduce", "list", "--json")
    items = answer.json["reproductions"]
    assert {"id", "alias", "shows", "cost_s"} <= items[0].keys()
    shown = airwatt("reproduce", "list")
    assert shown.out == airwatt("reproduce").out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert airwatt("reproduce", "all", "list").status == 2


def test_out_must_be_a_folder(airwatt, tmp_path):
    (tmp_path / "file").touch()
    answer = airwatt("reproduce", "e2tcp/ex4.4", "--out", tmp_path / "file")
    assert answer.status == 2
    assert answer.is_one_line("--out", "got file")


# What the core counts.


def test_a_header_comes_back_as_it_was_put():
    packet = _core.e2tcp_encode(
        7, addresses=(("10.0.0.1", 1), ("10.0.0.2", 2)), sequence=4, acknowledgement=5, blocks=[(8, 9)], payload=b"four"
    )
    header, payload = _core.e2tcp_decode(packet)
    assert payload == b"four"
    read = json.loads(header)
    assert (read["connection"], read["sequence"], read["acknowledgement"], read["blocks"]) == (7, 4, 5, [[8, 9]])
    assert read["addresses"] == [["10.0.0.1", 1], ["10.0.0.2", 2]]


def test_an_endpoint_acknowledges_what_it_receives_and_its_time_does_not_go_back():
    sender, receiver = _core.E2tcpEndpoint(payload_bytes=100), _core.E2tcpEndpoint()
    [packet] = sender.write(100, 1.0)
    [answer] = receiver.receive(packet, 1.5)
    assert json.loads(_core.e2tcp_decode(answer)[0])["acknowledgement"] == 100
    assert dict(sender.timers()).keys() == {"transmission"}
    sender.receive(answer, 2.0)
    assert sender.timers() == []
    with pytest.raises(_core.InputError, match="at_s: expected 2 or later, got 1"):
        sender.write(1, 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.e2tcp_decode(b""),
        lambda: _core.e2tcp_encode(1, control="psh"),
        lambda: _core.e2tcp_encode(1, blocks=[(1, 2)]),
        lambda: _core.e2tcp_encode(1, addresses=(("nowhere", 1), ("10.0.0.2", 2))),
        lambda: _core.e2tcp_encode(1, addresses=(("::1", 1), ("10.0.0.2", 2))),
        lambda: _core.e2tcp_size(b""),
        lambda: _core.E2tcpEndpoint(payload_bytes=0),
        lambda: _core.E2tcpEndpoint(initial_rto_s=-1.0),
        lambda: _core.E2tcpEndpoint().receive(b"no packet"),
        lambda: _core.E2tcpEndpoint().write(1, float("nan")),
        lambda: _core.E2tcpTable().open(("nowhere", 1), ("10.0.0.2", 2)),
        lambda: _core.data_overhead(1, 0),
        lambda: _core.time_overhead(1, 1, 0),
        lambda: _core.energy_overhead(0.1, 0.1, "warm"),
        lambda: _core.energy_efficiency(0.1, 0.1, "warm"),
    ],
)
def test_what_cannot_be_counted_is_refused(call):
    with pytest.raises(_core.InputError):
        call()


def test_a_place_alone_names_all_of_its_parts(airwatt):
    def ids(*words):
        return [item["id"] for item in airwatt("reproduce", "list", *words, "--json").json["reproductions"]]

    assert {"ba-ta/fig13.buffer", "ba-ta/fig13.rtt"} <= set(ids("fig13"))
    assert ids("ba-ta/fig13") == ["ba-ta/fig13.buffer", "ba-ta/fig13.rtt"]
    assert ids("fig2.4") == ["hashimoto-2013/fig2.4a", "hashimoto-2013/fig2.4b", "hashimoto-2013/fig2.4c"]
    assert all(id_.startswith("ba-ta/") for id_ in ids("ba-ta"))
    assert airwatt("reproduce", "list", "ba-ta/fig1").status == 2
    assert airwatt("reproduce", "fig13", "list").status == 2
