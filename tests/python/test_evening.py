"""docs/examples/evening.toml: a household whose applications all run on one access point."""

from conftest import ROOT

import airwatt


def test_the_household_runs_and_each_flow_has_its_station():
    result = airwatt.run(
        str(ROOT / "docs" / "examples" / "evening.toml"), set={"duration": "6s", "flow.start_spread": "1s"}
    )
    assert [flow.station for flow in result.flows] == [0, 1, 1, 2, 1, 2, 3, 3, 3, 4, 5, 6, 7]
    video, up, down, pages = result.flows[:4]
    assert video.video_stalls == 0
    # A first segment of 109 kB, and what the line has carried of others since.
    assert video.bytes_delivered > 1_000_000
    # Each way a call has 50 packets of audio, 10 reports and at least 30 packets of video a second.
    assert up.segments_sent > 6 * 80
    assert down.segments_sent > 6 * 80
    assert pages.bytes_delivered > 300_000
    # The television never sleeps, and a thing hardly does anything else.
    asleep = [station.state_s["sleep"] / sum(station.state_s.values()) for station in result.stations]
    assert asleep[0] == 0
    assert min(asleep[4:]) > 0.8
