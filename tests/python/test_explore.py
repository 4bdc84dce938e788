"""`airwatt explore`: what the server answers and refuses, what the models and the simulation give, and how it ends."""

import http.client
import json
import os
import signal
import socket
import threading
import time
from urllib.parse import urlencode, urlsplit

import browser
import pytest
from conftest import ROOT, SHORT

from airwatt import InputError, Scenario, keys, laboratory
from airwatt.explore import answers, controls, simulation
from airwatt.explore.server import Explorer, Server
from airwatt.explore.simulation import LIMIT

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"
OVERRIDES = [("flow.application.size", "1MB")]


def source(**more):
    given = {
        "capture": False, "text": "fast-dsl", "name": "fast-dsl", "set": OVERRIDES, "seed": 1, "station": None,
        "radio": None, "battery": None, "allow_borrowed": False, "user": None, "limit": LIMIT,
    }  # fmt: skip
    return given | more


@pytest.fixture(scope="module")
def served():
    explorer = Explorer(source(), laboratory.load("fast-dsl", OVERRIDES))
    server = Server(explorer, 0)
    yield server
    server.close()
    explorer.close()


def get(server, place, host=None, token=None, method="GET", **query):
    address = urlsplit(server.address)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
    path = (f"/{token}/" if token is not None else address.path) + place
    headers = {} if host is None else {"Host": host}
    connection.request(method, f"{path}?{urlencode(query)}" if query else path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, json.loads(body) if "json" in answer.headers["Content-Type"] else body.decode()


def test_every_main_key_is_one_of_the_schema():
    known = {key.path for key in keys.all_keys()}
    assert {controls._FORMS.get(path, path) for path in controls.MAIN} <= known


def takes(scenario, pair):
    try:
        return isinstance(scenario.replace([pair]), Scenario)
    except InputError:
        return False


def test_sliders_have_the_value_of_the_scenario_and_values_that_it_takes():
    scenario = laboratory.load("fast-dsl")
    found = {control.key: control for control in controls.of_scenario(scenario)}
    assert {"policy", "station.radio", "wired.rtt", "wired.down.queue", "flow.application.size"} <= found.keys()
    own = {key: control.values[control.start] for key, control in found.items()}
    assert own["wired.rtt"] == "20ms"
    assert own["wired.down.queue"] == "50packets"
    assert own["flow.transport"] == "newreno"
    for control in found.values():
        assert len(set(control.values)) == len(control.values) > 1
        # One of its ends, at least, is a value that the loader takes.
        ends = [(control.key, control.values[place]) for place in (0, -1)]
        assert any(takes(scenario, end) for end in ends), control.key
    # A listen interval in words is kept, and what has no effect has no slider.
    idle = {control.key: control for control in controls.of_scenario(laboratory.load("idle"))}
    assert idle["station.listen_interval"].values[-1] == "dtim"
    assert "ap.dtim_period" in idle
    assert "ap.dtim_period" not in found


def test_models_answer_for_a_transfer_and_not_for_what_they_do_not_know():
    rows = {row["label"]: row for row in answers.of_scenario(laboratory.load("fast-dsl"))["rows"]}
    slower = answers.of_scenario(laboratory.load("fast-dsl", [("wired.rtt", "200ms")]))["rows"]
    assert rows["active"]["power_w"] > rows["psm"]["power_w"]
    assert {row["label"]: row for row in slower}["psm"]["goodput_bps"] < rows["psm"]["goodput_bps"]
    assert answers.of_scenario(laboratory.load("web"))["rows"] == []


def test_only_this_machine_with_the_token_is_answered(served):
    port = urlsplit(served.address).port
    assert get(served, "")[0].status == 200
    assert get(served, "", host=f"localhost:{port}")[0].status == 200
    for host in ("example.com", f"example.com:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        assert get(served, "", host=host)[0].status == 403, host
    path = urlsplit(served.address).path
    hosts = f"Host: localhost:{port}\r\nHost: example.com\r\n"
    assert raw(served, f"GET {path} HTTP/1.1\r\n{hosts}\r\n".encode()).startswith(b"HTTP/1.1 403 ")
    for token in ("", "x", "../x", "%00"):
        assert get(served, "", token=token)[0].status == 404, token
    assert get(served, "none")[0].status == 404
    assert get(served, "models", method="POST")[0].status == 501
    answer, page = get(served, "")
    assert "connect-src 'self'" in page
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def raw(server, request):
    """What the server answers to bytes."""
    with socket.create_connection(("127.0.0.1", urlsplit(server.address).port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_a_malformed_request_gets_400(served, capfd):
    for target in (b"http://[/", b"http://[::1/x/models?a=b", b"http://[x]/"):
        answer = raw(served, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 "), (target, answer)
    for request in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x00\xff" * 9 + b"\r\n\r\n"):
        answer = raw(served, request)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 ")), (request, answer)
    # Not one of HTTP/0.9, without a status.
    assert raw(served, b"GET /a HTTP/0.9\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 403 ")
    assert get(served, "")[0].status == 200
    assert capfd.readouterr().err == ""


def test_a_hundred_connections_at_once_are_accepted(served):
    port = urlsplit(served.address).port
    waiting = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(100)]
    assert get(served, "")[0].status == 200
    for connection in waiting:
        connection.close()
    assert served._http.request_queue_size == 128


def test_models_and_simulation_answer_over_http(served):
    rtt = next(one for one in controls.of_scenario(laboratory.load("fast-dsl", OVERRIDES)) if one.key == "wired.rtt")
    _, models = get(served, "models", **{"wired.rtt": rtt.values[-1]})
    assert "psm" in {row["label"] for row in models["rows"]}
    _, answer = get(served, "simulate", policy="psm", trace="1")
    (study,) = answer["view"]["studies"]
    run = laboratory.run("fast-dsl", policy="psm", set=dict(OVERRIDES))
    energy_j = {choice["label"]: choice["metrics"]["energy_j"][0] for choice in study["choices"]}
    assert energy_j.keys() == {"active", "psm", "ideal"}
    assert energy_j["psm"] == run.stations[0].energy_j
    assert [line["label"] for line in study["timelines"]] == ["psm: everything"]
    assert answer["arrays"]
    _, everyone = get(served, "simulate", all="1", trace="0")
    assert len(everyone["view"]["studies"][0]["choices"]) > 6


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"wired.rtt": "21ms"}, "its slider"),
        ({"station.radio": "/etc/passwd"}, "its slider"),
        ({"base": "web"}, "without a slider"),
        ({"policy": "none"}, "its slider"),
    ],
)
def test_what_has_no_slider_is_refused(served, query, words):
    for place in ("models", "simulate"):
        answer, document = get(served, place, **query)
        assert answer.status == 400
        assert words in document["error"]


def test_a_newer_question_ends_an_older_one():
    long = [("duration", "60s")]
    explorer = Explorer(source(set=long, text="saturation", limit="events=1e9"), laboratory.load("saturation", long))
    durations = next(one.values for one in explorer.controls if one.key == "duration")
    try:
        old = {}
        thread = threading.Thread(
            target=lambda: old.update(explorer.simulate([("all", "1"), ("duration", durations[-1])]))
        )
        thread.start()
        # It has begun when the process has had the time to start; if not, it is superseded before it begins.
        time.sleep(1)
        new = explorer.simulate([("duration", durations[0])])
        thread.join(30)
        assert not thread.is_alive()
        assert old == {"superseded": True}
        assert "view" in new
    finally:
        explorer.close()


def test_a_process_that_does_not_stop_for_a_newer_question_is_ended(monkeypatch):
    """On a busy machine. The older question is superseded, and not one that failed."""
    long = [("duration", "60s")]
    explorer = Explorer(source(set=long, text="saturation", limit="events=1e9"), laboratory.load("saturation", long))
    durations = next(one.values for one in explorer.controls if one.key == "duration")
    monkeypatch.setattr(simulation, "_STOP_S", 0.2)
    try:
        old = {}
        asked = [("all", "1"), ("duration", durations[-1])]
        thread = threading.Thread(target=lambda: old.update(explorer.simulate(asked)))
        thread.start()
        time.sleep(1)
        os.kill(explorer._simulation._process.pid, signal.SIGSTOP)
        assert "view" in explorer.simulate([("duration", durations[0])])
        thread.join(30)
        assert old == {"superseded": True}
    finally:
        explorer.close()


def test_a_radio_that_cannot_join_is_noted():
    given = [("station.radio", "esp32-c3"), ("wifi.standard", "802.11a"), ("duration", "5s")]
    given.append(("wifi.beacon_rate", "6Mbps"))
    explorer = Explorer(source(set=given, text="idle"), laboratory.load("idle", given))
    try:
        (study,) = explorer.simulate([("trace", "0")])["view"]["studies"]
        assert any("esp32-c3 has 2.4 GHz alone, so that it cannot join" in note for note in study["notes"])
    finally:
        explorer.close()


def test_what_takes_too_long_is_shortened_and_says_so():
    explorer = Explorer(source(set=[], text="saturation", limit="events=2e4"), laboratory.load("saturation"))
    try:
        answer = explorer.simulate([("trace", "0")])
        assert any("Shortened to" in note for note in answer["view"]["studies"][0]["notes"])
    finally:
        explorer.close()


def test_a_capture_is_explored():
    explorer = Explorer(source(capture=True, text=str(CAPTURE), name="tcp-download.pcapng", set=[]), None)
    try:
        rows = {row["label"]: row for row in explorer.models([])["rows"]}
        assert rows["psm"]["power_w"] < rows["active"]["power_w"]
        answer = explorer.simulate([("station.listen_interval", "3"), ("trace", "1")])
        study = answer["view"]["studies"][0]
        replay = laboratory.analyze(CAPTURE, policies=["psm"], settings=[("station.listen_interval", "3")]).to_dict()
        energy_j = {choice["label"]: choice["metrics"]["energy_j"][0] for choice in study["choices"]}
        assert energy_j["psm"] == replay["policies"][0]["energy_j"]
    finally:
        explorer.close()


def test_ctrl_c_ends_it_and_its_processes(program):
    process = program("explore", "fast-dsl", *SHORT)
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    port = urlsplit(address).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", urlsplit(address).path)
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Ctrl-C ends" in err
    assert "Traceback" not in err
    with socket.socket() as closed:
        assert closed.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such"], "no-such"),
        (["fast-dsl", "--port", "70000"], "--port"),
        (["fast-dsl", "--set", "frob=1"], "frob"),
        (["fast-dsl", "--radio", "ar5004"], "capture"),
        (["fast-dsl", "--battery", "x"], "--battery"),
        (["none.pcap"], "none.pcap"),
    ],
)
def test_a_wrong_line_is_one_line(airwatt, arguments, words):
    answer = airwatt("explore", *arguments)
    assert answer.status == 2
    assert answer.is_one_line(words)


def test_a_port_in_use_is_one_line(airwatt, served):
    port = urlsplit(served.address).port
    answer = airwatt("explore", "fast-dsl", "--port", port)
    assert answer.status == 2
    assert answer.is_one_line(f"--port {port}")


@pytest.mark.long
@pytest.mark.skipif(browser.PROGRAM is None, reason="chromium is not installed")
def test_a_browser_drags_a_slider_and_a_link_shows_the_same(served):
    rests = "/^simulated in [^;]*$/.test(document.getElementById('status').textContent)"
    energy = "airwatt.view.studies[0].choices.map((choice) => choice.metrics.energy_j[0])"
    drag = """(() => { const slider = document.getElementById('control-wired.rtt');
        for (let step = 0; step < 12; step++) {
            slider.value = String(Number(slider.value) + 1); slider.dispatchEvent(new Event('input')); } })()"""
    with browser.Browser() as page:
        page.open(served.address)
        page.wait(rests)
        before = page.evaluate(energy)
        page.evaluate(f"window.before = JSON.stringify({energy})")
        page.evaluate(drag)
        # A simulation may be over before anybody looks: the result has changed, whatever the status was meanwhile.
        page.wait(f"JSON.stringify({energy}) !== window.before")
        page.wait(rests)
        after, link = page.evaluate(energy), page.evaluate("location.hash")
        assert after != before
        assert "wired.rtt=" in link
        page.call("Page.navigate", url="about:blank")
        page.open(served.address + link)
        page.wait(rests)
        assert page.evaluate(energy) == after
        assert page.errors == []
        assert all(url.startswith((served.address, "about:", "data:")) for url in page.requests)
