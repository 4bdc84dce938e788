"""`airwatt keys`, docs/scenario.md and `airwatt init`: they agree with the schema and with what the loader takes."""

import re

import pytest
from conftest import ROOT

import airwatt as package
from airwatt import keys
from airwatt._core import InputError, Scenario
from airwatt.cli import init

PAGE = ROOT / "docs" / "scenario.md"


def test_the_page_is_what_the_schema_gives(airwatt, request):
    now = airwatt.output(["keys", "--markdown"])
    if request.config.getoption("--bless"):
        PAGE.write_text(now)
    assert PAGE.read_text() == now, "airwatt keys --markdown > docs/scenario.md writes it anew"


def test_every_default_of_a_short_scenario_is_a_key_with_that_default():
    listed = {key.path: key for key in keys.all_keys()}

    def leaves(table, path=""):
        for name, value in table.items():
            below = f"{path}{name}"
            if isinstance(value, list) and value and isinstance(value[0], dict):
                value = value[0]
            if isinstance(value, dict):
                yield from leaves(value, f"{below}.")
            else:
                yield below, value

    least = Scenario.from_toml(
        'duration = "1s"\nwifi = "fast-wifi"\n[[flow]]\ndirection = "down"\napplication = { kind = "bulk" }\n'
    )
    for path, value in leaves(least.to_dict()):
        prefix = next(
            (key for key in listed.values() if "keys of" in key.kind and path.startswith(f"{key.path}.")), None
        )
        if prefix is not None:
            path = path.replace(prefix.path, re.search(r"keys of `(.*)`", prefix.kind)[1], 1)
        assert path in listed, path
        if path.startswith(("tcp.", "ap.")):
            assert listed[path].default == (str(value).lower() if isinstance(value, bool) else str(value)), path


def test_keys_are_found_by_name_pattern_and_meaning(airwatt):
    assert "40ms" not in airwatt.output(["keys", "wired.rtt"])
    assert airwatt("keys", "wired.rtt", "--json").json["keys"][0]["path"] == "wired.rtt"
    paths = [key["path"] for key in airwatt("keys", "wifi.*", "--json").json["keys"]]
    assert "wifi.data_rate" in paths
    assert all("wifi." in path for path in paths)
    assert "tcp.dup_ack_threshold" in airwatt.output(["keys", "RFC 5681"])
    assert max(map(len, airwatt.output(["keys"]).splitlines())) <= 80
    answer = airwatt("keys", "wired.rtx")
    assert answer.status == 2
    assert answer.is_one_line("wired.rtx", "hint", "wired.rtt")


def test_a_new_scenario_explains_its_base_first_and_runs(airwatt, tmp_path):
    file = tmp_path / "mine.toml"
    assert airwatt("init", file).status == 0
    assert file.read_text() == airwatt.output(["init"]) == init.TEMPLATE
    assert init.TEMPLATE.index("base =") < init.TEMPLATE.index("[wired]")
    assert airwatt("run", file, "--set", "flow.application.size=100kB").status == 0
    again = airwatt("init", file)
    assert again.status == 2
    assert again.is_one_line("mine.toml", "exists")


def test_a_dash_is_standard_output_and_no_name_of_a_new_file(airwatt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert airwatt.output(["init", "-"]) == init.TEMPLATE
    assert list(tmp_path.iterdir()) == []
    assert airwatt("init", "-x.toml").is_one_line("no such option: -x", "--help")
    assert airwatt("init", "--", "-x.toml").status == airwatt("init", "./.x.toml").status == 0
    assert {path.name for path in tmp_path.iterdir()} == {"-x.toml", ".x.toml"}
    for name, words in (("", "folder"), ("/", "folder /"), ("..", "folder .."), ("a" * 300, "File name too long")):
        answer = airwatt("init", name)
        assert (answer.status, answer.is_one_line("init", words)) == (2, True), answer


def test_keys_that_a_new_scenario_has_as_comments_are_right():
    """With each of them taken as it stands the scenario is still one."""
    text = re.sub(r"^# (\w+ = |\[wifi\])", r"\1", init.TEMPLATE, flags=re.MULTILINE)
    text = text.replace("dtim_period", "# dtim_period")  # It has an effect with receive_dtims only.
    assert text.count("# ") < init.TEMPLATE.count("# ")
    assert Scenario.from_toml(text).to_dict()["ap"]["buffer"] == "1000packets"


def test_all_errors_of_a_file_are_said_at_once(airwatt, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(
        'base = "fast-dsl"\nspeed = 3\n[wired]\nrtt = 20\n[ap]\nbuffer = "many"\nuapsd = true\n[tcp]\nmtu = "x"\n'
    )
    answer = airwatt("run", file)
    assert answer.status == 2
    lines = answer.err.splitlines()
    assert all(line.startswith(f"airwatt: {file}:") for line in lines)
    for word, line in (("speed", 2), ("wired.rtt", 4), ("ap.buffer", 6), ("tcp.mtu", 9)):
        (said,) = [text for text in lines if word in text]
        assert f":{line}: " in said
    assert len(lines) == 4
    with pytest.raises(InputError, match="wired"):
        Scenario.load(str(file), [])


def test_a_text_may_look_like_a_number(airwatt):
    """On the command line and from Python; the text is kept as it was written."""
    key = "cell.extension.channel"
    shown = airwatt("run", "two-cells", "--set", f"{key}=6.0", "--show-config").out
    assert 'channel = "6.0"' in shown
    short = {"duration": "100ms", "measure_from": "0ms"}
    assert [cell.channel for cell in package.run("two-cells", set={**short, key: 11}).cells] == ["1", "11"]
    compared = package.compare("two-cells", vary={key: [1, 6]}, set=short)
    assert [row.choice[key] for row in compared.rows] == ["1", "6"]
    assert airwatt("run", "two-cells", "--set", f"{key}=[6]").is_one_line("expected text, got a list")
