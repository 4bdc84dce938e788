"""Pictures of the findings about the shipped captures."""

import numpy as np
import pytest
from conftest import ROOT
from matplotlib.figure import Figure

from airwatt import laboratory
from airwatt.plots import finding as finding_picture
from airwatt.plots import sleepers
from airwatt.plots.labels import Labels

SHIPPED = ROOT / "captures" / "findings"
STATION = "02:00:00:00:00:02"


@pytest.fixture
def scene():
    """What the picture of a shipped capture's finding is drawn from."""

    def of(kind):
        document = laboratory.analyze(SHIPPED / f"{kind}-guilty.pcap", policies=["psm-legacy"], trace=True).to_dict()
        [finding] = [one for one in document["findings"] if one["kind"] == kind]
        occurrence = next(place for place in finding["occurrences"] if place["verdict"] == "violated")
        return finding_picture._Scene(document, finding, occurrence)

    return of


def fields(scene):
    return {one.packet: (one.sent, one.due) for one in scene.beacons() if one.is_wrong()}


def test_a_picture_shows_what_is_wrong_with_beacons(scene):
    late, missing = scene("beacon-late"), scene("beacon-missing")
    [due] = late.occurrence["due_s"]
    assert late.occurrence["time_s"] - due == pytest.approx(0.0147, abs=1e-4)
    [due] = missing.occurrence["due_s"]
    before, after = (one.time for one in missing.beacons() if one.packet in missing.deciding)
    assert due == pytest.approx((before + after) / 2, abs=1e-4)
    assert fields(scene("tim-missing")) == {16: ("none", "0 or 1"), 17: ("none", "0 or 1")}
    assert fields(scene("tim-stuck")) == {16: ("1", "0")}
    assert fields(scene("tim-never-set")) == dict.fromkeys((21, 22, 23), ("0", "1"))
    # From a period of 3: 2 1 0. The count stands still once, and the beacon after it does not follow that either.
    assert fields(scene("dtim-skipped")) == {5: ("2", "1")}


@pytest.mark.parametrize(
    ("kind", "periods_ms", "has_tim"),
    [
        ("twt-absent", [357.2, 766.8, 1176.4], True),
        ("twt-delivery-outside", [357.2, 766.8], True),
        ("twt-sent-outside", [357.2, 766.8], False),
    ],
)
def test_a_picture_about_a_wake_time_shows_its_service_periods(scene, kind, periods_ms, has_tim):
    """Each 409.6 ms for 16.384 ms: from the last one before what was found to the first one after it."""
    one = scene(kind)
    assert [1e3 * begin for begin, _ in one.periods] == pytest.approx(periods_ms, abs=0.1)
    assert all(end - begin == pytest.approx(0.016384) for begin, end in one.periods)
    names = [name for name, _ in one.lanes()]
    assert "service\nperiods" in names
    assert ("TIM bit as sent" in names) == has_tim
    assert any(one.start < begin and end < one.end for begin, end in one.periods)


def test_a_picture_says_which_bits_no_frame_decides(scene):
    one = scene("tim-never-set")
    due = {beacon.packet: (beacon.sent, beacon.due) for beacon in one.beacons()}
    assert {due[packet] for packet in (21, 22, 23)} == {("0", "1")}
    # The beacon before More Data announces a frame. A bit that is clear without a verdict, as in the one before, may be
    # wrong.
    assert {fields for packet, fields in due.items() if packet not in (21, 22, 23)} == {("0", "–"), ("1", "1")}
    stuck = scene("tim-stuck")
    assert {beacon.packet: beacon.due for beacon in stuck.beacons()} == {16: "0", 21: "–"}
    assert "–: no frame decides it" in stuck.caption()
    assert "–" not in scene("dtim-skipped").caption()
    caption = one.caption().split("\n")
    # A line of the caption is as wide as the axes at most.
    assert len(caption) == 3
    assert max(map(len, caption)) < 120


def test_a_picture_marks_all_beacons_that_concealed_one_frame(scene):
    assert scene("tim-never-set").deciding >= {21, 22, 23}


def test_a_picture_shows_group_frames_and_associations(scene):
    group = scene("group-not-after-dtim")
    assert [int(group.groups["packet"][row]) for row in group._group_rows()] == [group._wrong_packet()] == [17]
    assert "frames to\nthe group" in dict(group.lanes())
    more = scene("more-data-missing")
    assert [int(more.groups["packet"][row]) for row in more._group_rows()] == [17, 18]
    asked = scene("uapsd-not-granted")
    texts = [asked._frame_text(row) for up in (True, False) for row in asked._rows(up=up)]
    assert texts[0] == "2 association request for U-APSD"
    assert texts[-1] == "4 association response"
    assert asked._wrong_packet() == 4


@pytest.mark.parametrize(
    "kind", sorted(path.name.removesuffix("-guilty.pcap") for path in SHIPPED.glob("*-guilty.pcap"))
)
def test_every_finding_has_a_picture_with_all_that_decides(scene, kind, tmp_path):
    one = scene(kind)
    shown = {int(one.frames["packet"][row]) for up in (True, False) for row in one._rows(up=up)}
    shown |= {int(one.groups["packet"][row]) for row in one._group_rows()} | {beacon.packet for beacon in one.beacons()}
    assert one.deciding <= shown
    picture = tmp_path / "x.png"
    finding_picture.draw(one.document, one.finding, picture)
    assert picture.stat().st_size > 10_000


def test_a_picture_has_the_beacons_with_the_bit_of_each_station():
    analysis = laboratory.analyze(ROOT / "captures" / "tim-never-set.pcap", policies=["psm"], trace=True)
    rows = sleepers.Sleepers(analysis.to_dict())
    [station] = rows.stations
    without, with_bit = rows.tim(station)
    assert (len(without), [round(1000 * at) for at in with_bit]) == (6, [205])
    # Of a station that had another identifier before, no beacon says which bit was its own.
    document = analysis.to_dict()
    document["air"]["stations"][0]["aid_changed"] = True
    assert sleepers.Sleepers(document).aids == {}


@pytest.mark.parametrize("kind", ["pm-flapping", "awake-in-power-save"])
def test_what_a_station_did_for_a_time_is_drawn_for_as_long(kind):
    analysis = laboratory.analyze(SHIPPED / f"{kind}-guilty.pcap", station=STATION, policies=["psm"], trace=True)
    [place] = [place for place in sleepers.Sleepers(analysis.to_dict())._found(is_rule=True) if kind in place[2]]
    [finding] = [finding for finding in analysis.to_dict()["findings"] if finding["kind"] == kind]
    lasted = place[1] - place[0]
    assert 0.1 < lasted < 1
    assert f"{1e3 * lasted:.6g} ms" in finding["text"]


def test_a_silent_capture_is_not_shortened():
    assert sleepers.scale_of(np.array([0.0]), 20.0).gaps == []
    assert len(sleepers.scale_of(np.array([0.0, 1e-3, 10.0, 10.001]), 20.0).gaps) == 2


@pytest.mark.parametrize("kind", ["tim-never-set", "tim-stuck", "sent-to-sleeping-station", "ps-poll-unanswered"])
def test_the_part_of_a_picture_has_the_packets_that_decide(kind):
    analysis = laboratory.analyze(SHIPPED / f"{kind}-guilty.pcap", station=STATION, policies=["psm"], trace=True)
    rows = sleepers.Sleepers(analysis.to_dict())
    times, (begin, end) = rows.deciding(), rows.zoom()
    assert len(times) > 1
    assert begin <= times[0] <= times[-1] <= end


def test_labels_do_not_lie_on_each_other():
    """What has no room next to its mark stands a row further, in short, or nowhere; marks on the left come last."""
    labels = Labels(1.0, 100.0)
    texts = ["50 violated", "53 other", "52 third", "51 again", "10 left of it", "99 right"]
    placed = [labels.place(float(text[:2]), (text, text[:2])) for text in texts]
    assert placed == [
        (50, 0, "50 violated"),
        (53, 1, "53 other"),
        None,
        None,
        (10, 0, "10 left of it"),
        (91, 0, "99 right"),
    ]
    assert labels.place(47.0, ("47 no room", "47")) == (47, 0, "47")
    # A text that was moved to the left by as much as it was too long began at the mark of another finding.
    assert labels.place(93.0, ("93 too long", "93")) == (82, 1, "93 too long")
    assert Labels(1.0, 100.0).place(93.0, ("93 too long", "93"), [83.0, 93.0]) == (93, 0, "93")


def test_each_of_three_findings_has_its_label():
    """The beacons of tim-never-set are closer to each other than their labels are long."""
    analysis = laboratory.analyze(SHIPPED / "tim-never-set-guilty.pcap", station=STATION, policies=["psm"], trace=True)
    rows = sleepers.Sleepers(analysis.to_dict())
    whole, part = np.atleast_2d(Figure().subplots(rows.rows(), 2))[0]
    for axes, (begin, end) in ((whole, (0.0, rows.end)), (part, rows.zoom())):
        rows._findings(axes, sleepers.Scale(np.array([begin, end]), np.array([begin, end]), []), 1)
        shown = sorted(text.get_text().split()[0] for text in axes.texts)
        assert shown == ["21", "22", "23"], shown


def test_the_last_finding_has_its_kind():
    """At the right edge stood the number of a packet alone, and no text said the kind."""
    analysis = laboratory.analyze(ROOT / "captures/tcp-download.pcapng", policies=["psm"], trace=True)
    rows = sleepers.Sleepers(analysis.to_dict())
    grid = np.atleast_2d(Figure().subplots(rows.rows(), 2))
    rows.draw(grid)
    texts = [text.get_text() for axes in grid[:, 0] for text in axes.texts]
    assert any(text.split()[0] == "2575" for text in texts), texts
    # Its own text would begin at a mark of the same kind, which has it.
    assert {" ".join(text.split()[1:]) for text in texts} <= {"keep-alive", ""}
    assert any(text.endswith(" keep-alive") for text in texts), texts
