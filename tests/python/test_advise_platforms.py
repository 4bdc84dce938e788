"""What `airwatt advise` says of platforms: what can be set on a chip or on Linux, and the words and code for it."""

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

from airwatt import advice, kits
from airwatt.advice import companion_kits, esp_idf, platforms


def test_the_answer_says_how_target_wake_time_is_tried(airwatt):
    asked = ["advise", "idle", "--radio", "esp32-c6", "--delay", "1s", "--runs", "1", "--set", "duration=10s"]
    hint = "--set wifi.standard=802.11ax-2.4GHz"
    assert f"not tried: target wake time, as of 802.11ax: {hint}" in " ".join(airwatt.output(asked).split())
    tried = airwatt(*asked, *hint.split(), "--json").json["candidates"]
    assert "twt" in {row["policy"] for row in tried}


def test_what_is_pasted_is_code_or_a_comment(airwatt):
    question = ["idle", "--radio", "esp32-c3", "--delay", "1s", "--runs", "1", "--target", "esp-idf"]
    text = airwatt.output(["advise", *question])
    indented = text[text.index("// and for the host") :].partition("\n\n")[0]
    pasted = [line.strip() for line in indented.splitlines()]
    assert len(pasted) > 3
    assert all(line.startswith(("//", "#", "CONFIG_")) for line in pasted), pasted


def test_a_target_without_a_setting_has_a_line_and_no_heading(airwatt):
    keys = ["--set", "duration=3s", "--set", "station.listen_interval=1"]
    text = airwatt.output(["advise", "call-today", "--delay", "1s", "--runs", "1", "--target", "hostapd", *keys])
    assert "\n\ntimeout 10ms needs no setting on hostapd\n" in text
    assert "nothing to set" not in text
    assert "to set " not in text


@pytest.mark.parametrize("target", platforms.TARGETS)
def test_a_target_has_only_what_can_be_set_there(airwatt, target):
    chips = {"nrf": "nrf7002", "wiseconnect": "siwx917", "pico-sdk": "cyw43439", "whd": "cyw43439"}
    radio = chips.get(target, "esp32-c3")
    question = ["idle", "--delay", "1s", "--runs", "1", "--radio", radio, "--target", target]
    document = airwatt("advise", *question, "--json").json
    found = {
        (row["policy"], tuple(row["parameters"].items()), row["listen_interval"]) for row in document["candidates"]
    }
    expected = {
        (each.policy, each.parameters, each.listen_interval)
        for each in advice.candidates()
        # The cell is not one of 802.11ax, and each of its beacons is a DTIM beacon.
        if platforms.is_for(target, each) and each.policy != "twt" and each.listen_interval != 1
    }
    assert found == expected
    assert all(row["simulation"] for row in document["candidates"])
    shown = airwatt("advise", *question).out
    _, _, to_paste = shown.partition(f" on {target}:\n")
    assert to_paste.startswith("    ")
    assert "has no setting" not in shown


def test_what_esp_idf_is_told_is_code_and_options(airwatt):
    question = ["--flow", "up:periodic:1s:60B", "--delay", "5ms", "--runs", "1", "--radio", "esp32-c3"]
    shown = airwatt("advise", *question, "--target", "esp-idf").out
    code = re.split(r"\son\sesp-idf:\n", shown)[1].partition("\n\n")[0]
    assert re.search(r"^    esp_wifi_set_ps\(WIFI_PS_\w+\);$", code, re.M)
    assert "CONFIG_PM_ENABLE=y" in shown
    assert ";;" not in shown
    assert "    // esp_pm_configure() with" in shown
    for radio, target in [("siwx917", "esp-idf"), ("esp32-c3", "nrf"), ("nrf7002", "esp-idf")]:
        refused = airwatt("advise", "idle", "--radio", radio, "--target", target)
        assert refused.status == 2
        assert refused.is_one_line(f"--target {target}", radio)
    assert airwatt("advise", *question, "--target", "amiga").is_one_line("linux, esp-idf, nrf, zephyr, wiseconnect")


def test_what_no_platform_can_set_is_marked(airwatt):
    question = ["slow-dsl", "--delay", "50ms", "--runs", "1", "--set", "flow.application.size=500kB"]
    marked = {row["policy"]: row["can_be_set"] for row in airwatt("advise", *question, "--json").json["candidates"]}
    assert marked["uapsd"] is marked["ba-ta"] is False
    assert marked["psm"] is marked["timeout"] is marked["active"] is marked["latency-guard"] is True
    shown = airwatt("advise", *question, "--details").out
    assert "\n* no platform has a setting for all of it" in shown


def test_settings_are_within_the_ranges_of_the_platforms():
    for each in advice.candidates():
        lines = platforms.lines(each)
        assert len(lines) == len(platforms.PLATFORMS)
        for value in re.findall(r"MIN_ACTIVE_TIME=(\d+)", lines[2]):
            assert 8 <= int(value) <= 60


def test_what_is_said_of_linux_can_be_pasted():
    for time, count, driver in (("1.5s", 1500, "wl18xx"), ("2s", 2000, "brcmfmac")):
        iw = platforms.how(advice.Candidate("timeout", (("timeout", time),)))[0]
        assert f"iwconfig wlan0 power timeout {count}m" in iw.lines
        assert f"; {driver} has" in iw.note or f"and {driver} have" in iw.note
    # Each file that a line names is in the package, and in the tree.
    manager = platforms.how(advice.Candidate("latency-guard"))[1]
    copied = next(word for line in manager.lines for word in line.split() if word.startswith("/usr/share/doc/airwattd"))
    build = (ROOT / "packaging/debian/build").read_text()
    assert '"$root/usr/share/doc/airwattd/examples/"' in build
    assert copied.startswith("/usr/share/doc/airwattd/examples/")
    assert (ROOT / "packaging/NetworkManager" / Path(copied).name).exists()
    assert manager.lines[-1] == "systemctl enable --now airwattd-station"
    # A long command goes on in the next line, as a shell reads it.
    pasted = "\n".join(platforms.to_paste("linux", platforms.how(advice.Candidate("latency-guard"))))
    assert all(len(line) <= 76 for line in pasted.splitlines())
    assert set(manager.lines) <= set(re.sub(r" \\\n +", " ", pasted).splitlines())


def test_first_is_what_the_chip_can_be_told():
    found = advice.advise(advice.scenario_of(["up:mqtt:10s:60B"], {"station.radio": "esp32-c3"}, "30s"), 1.0, runs=1)
    best = found.ranked[0]
    assert (best.candidate.policy, best.is_out_of_reach) == ("timeout", False)
    cheaper = [
        row for row in found.ranked if row.is_out_of_reach and row.simulation.energy_j < best.simulation.energy_j
    ]
    assert cheaper
    assert found.runner_up is not None
    assert not found.runner_up.is_out_of_reach


def test_wake_times_are_tried_where_the_kit_and_the_cell_have_them():
    wifi_6 = {"station.radio": "nrf7002", "wifi.standard": "802.11ax-2.4GHz"}
    scenario = advice.scenario_of(["up:periodic:10s:60B"], wifi_6, "30s")
    found = advice.advise(scenario, 6.0, runs=1)
    tried = [row.candidate for row in found.rows if row.candidate.policy == "twt"]
    assert [candidate.name for candidate in tried] == ["twt 50ms", "twt 200ms", "twt 1s", "twt 10s"]
    assert all(dict(candidate.parameters)["device"] == "nrf70" for candidate in tried)
    lines = {one["platform"]: one["lines"] for one in platforms.settings(tried[2])}
    assert lines["nRF Connect SDK"] == ["wifi twt quick_setup 16384 1000000"]
    assert ".wake_invl_mant = 62500, .wake_invl_expn = 4" in lines["ESP-IDF"][0]
    other = advice.advise("idle", 1.0, runs=1, set={"station.radio": "esp32-c6", "duration": "10s"})
    assert "802.11ax" in other.untried
    assert all(row.candidate.policy != "twt" for row in other.rows)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_wait_for_any_time_between_two_service_periods(airwatt, seed):
    """A message each 30 s is three periods of 10 s after the last: in a run all answers waited for the same time."""
    arguments = ["advise", "--delay", "11s", "--radio", "esp32-c6", "--set", "wifi.standard=802.11ax-2.4GHz"]
    arguments += ["--flow", "up:mqtt:30s:60B", "--runs", "1", "--seed", seed, "--json"]
    found = json.loads(airwatt(*arguments).out)
    [waits] = [
        one["simulation"]
        for one in found["candidates"]
        if one["policy"] == "twt" and one["parameters"] == {"interval": "10s", "early_end": "false"}
    ]
    assert waits["delay_s"] == pytest.approx(5.0, abs=0.5)
    assert waits["delay_p95_s"] == pytest.approx(9.5, abs=0.3)


def test_wake_times_do_not_rest_on_an_early_end_that_nothing_sets(airwatt):
    """549 days of an ESP32-C6 stood without a word where a firmware that stays awake to the end makes 207 of them."""
    arguments = ["advise", "--delay", "1s", "--radio", "esp32-c6", "--set", "wifi.standard=802.11ax-2.4GHz"]
    arguments += ["--flow", "up:periodic:30s:60B", "--duration", "5min", "--battery", "1000mAh", "--runs", "1"]
    found = json.loads(airwatt(*arguments, "--json").out)
    rows = {
        (one["parameters"]["interval"], one["parameters"]["early_end"]): one
        for one in found["candidates"]
        if one["policy"] == "twt"
    }
    whole, early = rows["10s", "false"], rows["10s", "true"]
    assert whole["can_be_set"]
    assert not early["can_be_set"]
    assert whole["simulation"]["energy_j"] > 2 * early["simulation"]["energy_j"]
    assert found["advice"]["parameters"] == {"interval": "10s", "early_end": "false"}
    out = " ".join(airwatt(*arguments, "--details").out.split())
    assert "take twt 10s: " in out
    assert "if early twt 10s ending early*: " in out
    days = float(out.partition("if early")[2].split("1000mAh lasts ")[1].split(" days")[0])
    lasts = float(out.split("as advised ")[1].split(" days")[0])
    assert lasts == pytest.approx(found["battery_lasts_s"]["as advised"] / 86_400, rel=0.01)
    assert days > 2 * lasts
    # A beacon each 10 s is 71 uC: of the profile, 78 mA for 0.92 ms until its TIM has come, with the guard before it.
    with_beacons = float(out.partition("or ")[2].split(" days with a beacon in each period")[0].split()[-1])
    assert 1000 / 24 * (1 / with_beacons - 1 / days) == pytest.approx(0.0071, abs=0.0004)
    # It hears one beacon in 10 s at most.
    assert "without a beacon for 6 s, which is less than one of these intervals between wake times" in out
    assert "esp_wifi_set_inactive_time(WIFI_IF_STA, 100);" in out
    pasted = airwatt(*arguments, "--target", "esp-idf", "--details").out
    assert "twt 10s ending early*" in pasted


def test_a_profile_of_ones_own_is_of_the_chip_that_it_names(tmp_path, airwatt):
    board = tmp_path / "board.toml"
    shipped = (ROOT / "radios" / "esp32-c6.toml").read_text()
    board.write_text(shipped.replace('name = "esp32-c6"', 'name = "esp32-c6-board"'))
    found = advice.advise("idle", 1.0, runs=1, set={"station.radio": str(board), "duration": "10s"})
    assert (found.chip.name, found.chip.mode) == ("esp32-c6-board", "Auto Light-sleep")
    assert "CONFIG_PM_ENABLE=y" in found.chip.sets
    assert kits.of_chip(found.chip.name) == "ESP-IDF"
    assert platforms.with_wake_times(None, found.chip.name) == "ESP-IDF"
    assert platforms.words_of(None, found.chip.name) == ["esp-idf"]
    assert platforms.words_of("linux", found.chip.name) == ["linux"]
    # A chip with a kit of its own is not told calls of another maker's.
    candidate = advice.Candidate("psm", (), 10)
    lines = platforms.described(platforms.how(candidate), "cc3130")
    assert [line.partition(":")[0] for line in lines] == ["iw", "NetworkManager", "hostapd", "cc3130"]


def test_chips_beside_a_host_are_told_their_own_calls(airwatt):
    """A CYW43439 and an SiWx917 had "the kit of its maker has no settings here"."""
    arguments = ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=60s", "--radio"]
    for radio, targets, calls in [
        ("cyw43439", ["pico-sdk", "whd"], ["cyw43_pm_value(CYW43_PM", "whd_wifi_set_listen_interval(ifp, 10, "]),
        ("siwx917", ["wiseconnect"], ["sl_wifi_set_performance_profile_v2(&profile);", "listen_interval = 1024;"]),
    ]:
        out = airwatt.output([*arguments, radio])
        assert all(f" on {target}:\n" in out for target in targets), out
        assert all(call in out for call in calls), out
        for target in targets:
            pasted = airwatt.output([*arguments, radio, "--target", target])
            assert f" on {target}:\n" in pasted
        assert list(companion_kits.hints(radio))
    # In C, and what the host does.
    hints = " ".join(companion_kits.hints("nrf7002"))
    assert "WIFI_PS_PARAM_TIMEOUT with timeout_ms" in hints
    assert "CONFIG_SERIAL=n" in hints
    assert "tickless idle" in " ".join(companion_kits.hints("siwx917"))
    assert airwatt(*arguments, "esp32-c3", "--target", "pico-sdk").is_one_line("--target pico-sdk", "esp32-c3")


def test_a_chip_is_not_advised_a_band_that_it_has_not(airwatt):
    cell = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps"]
    refused = airwatt("advise", "idle", "--delay", "1s", "--radio", "cyw43439", *cell)
    assert refused.status == 2
    assert refused.is_one_line("expected a cell at 2.4 GHz", "cyw43439", "5 GHz")
    run = airwatt("run", "idle", "--radio", "esp32-c3", *cell)
    assert run.status == 0, run.err
    assert "esp32-c3 has 2.4 GHz alone" in " ".join((run.out + run.err).split())
    both = ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=10s", "--radio", "nrf7002", *cell]
    assert airwatt(*both).status == 0


def test_values_of_chips_beside_a_host_are_within_their_ranges():
    beacon_ms = 102.4
    assert "cyw43_pm_value(CYW43_PM2_POWERSAVE_MODE, 50, 1, 1, 10)" in str(companion_kits.pico_sdk(50, None))
    assert "cyw43_pm_value(CYW43_PM1_POWERSAVE_MODE, 10, 10, 0, 10)" in str(companion_kits.pico_sdk(None, 10))
    # Four bits hold the listen interval, and the return to sleep has steps of 10 ms up to 2 s.
    assert companion_kits.pico_sdk(50, 16) is None
    assert (
        companion_kits.pico_sdk(45, None) is companion_kits.pico_sdk(2010, None) is companion_kits.whd(5, None) is None
    )
    assert "powersave_with_throughput(ifp, 200)" in str(companion_kits.whd(200, None))
    # The last beacon within so many milliseconds is the one that is meant.
    for beacons in (1, 3, 10):
        line = next(line for line in companion_kits.wiseconnect(50, beacons).lines if "listen_interval" in line)
        within_ms = int(line.split(" = ")[1].rstrip(";"))
        assert int(within_ms / beacon_ms) == beacons
    assert "1000 as it comes" in companion_kits.wiseconnect(50, 10).note
    assert "1000" not in companion_kits.wiseconnect(50, 3).note
    usual = [advice.Candidate("timeout", (("timeout", "200ms"),)), advice.Candidate("active")]
    assert [platforms.is_usual("pico-sdk", one) for one in usual] == [True, False]
    assert [platforms.is_usual("WiSeConnect", one) for one in usual] == [False, True]


def test_days_of_a_radio_beside_a_host_say_so(airwatt):
    """27 days of an nRF7002 stood without a word about the host that it needs."""
    for command_ in (["run", "idle"], ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=60s"]):
        alone = " ".join(airwatt.output([*command_, "--radio", "nrf7002", "--battery", "1000mAh"]).split())
        assert "radio alone; with the host: --battery 1000mAh,load=0.5mA" in alone
        loaded = airwatt.output([*command_, "--radio", "nrf7002", "--battery", "1000mAh,load=0.5mA"])
        assert "radio alone" not in loaded
        whole = airwatt.output([*command_, "--radio", "esp32-c3", "--battery", "1000mAh"])
        assert "radio alone" not in whole


def test_what_else_of_esp_idf_wakes_the_radio_or_ends_its_association():
    skipping = advice.Candidate("timeout", (("timeout", "50ms"),), 10)
    radio, host, options, inactive = esp_idf.hints(skipping)
    assert "CONFIG_LWIP_ESP_GRATUITOUS_ARP=n" in radio
    assert "CONFIG_LWIP_ESP_MLDV6_REPORT=n" in radio
    # Nobody says how many of them the makers' averages contain.
    assert "is not published" in radio
    assert "CONFIG_LWIP_TCP_TMR_INTERVAL" in host
    assert "CONFIG_USJ_NO_AUTO_LS_ON_CONNECTION=y" in host
    for option in ("DEFAULT_MAX_ACTIVE_TIME", "DEFAULT_WAIT_BROADCAST_DATA_TIME", "BEACON_LOST_OPT"):
        assert f"CONFIG_ESP_WIFI_SLP_{option}" in options
    assert "which are 5 of these listen intervals" in inactive
    assert esp_idf.keeps_association(skipping)[0].startswith("esp_wifi_set_inactive_time(WIFI_IF_STA, 11);")
    assert len(list(esp_idf.hints(skipping.listening(5)))) == 3
    assert esp_idf.keeps_association(skipping.listening(5)) == []
    minute = advice.Candidate("twt", (("interval", "1s"), ("early_end", "false")))
    *_, inactive = esp_idf.hints(minute)
    assert "which are 6 of these intervals" in inactive
    assert esp_idf.keeps_association(minute)[0].startswith("esp_wifi_set_inactive_time(WIFI_IF_STA, 10);")


@pytest.mark.parametrize(
    ("radio", "beside", "others"),
    [
        ("nrf7002", "wifi ps_wakeup_mode listen_interval", ("esp_wifi", "iwconfig", "nmcli", "bursts of")),
        ("esp32-c3", "esp_wifi_set_ps(WIFI_PS_MAX_MODEM);", ("wifi ps", "iwconfig", "nmcli", "bursts of")),
    ],
)
def test_advice_for_a_chip_of_one_platform_is_in_its_words(airwatt, radio, beside, others):
    arguments = ["advise", "--flow", "up:mqtt:30s:60B", "--delay", "1s", "--runs", "1", "--radio", radio]
    assert beside in airwatt.output([*arguments, "--duration", "60s"])
    out = airwatt.output([*arguments, "--duration", "60s", "--details"])
    assert not [words for words in others if words in out]
    # Of Linux only: the guard of its daemon.
    assert "latency-guard*" in out
