"""The models from Python and on the command line: broadcasting, units, pictures, and all kinds of wrong input."""

import contextlib
import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airwatt
from airwatt import InputError, fairness, models


def test_numbers_give_numbers_and_arrays_arrays():
    solved = models.tcp_energy(p=0.001, rtt_s=0.1, m=5)
    assert isinstance(solved.ratio, float)
    assert solved.ratio == pytest.approx(0.4604, abs=5e-5)
    assert solved["ratio"] == solved.ratio
    assert list(solved) == list(models.tcp_energy.results)
    one = models.tcp_energy(p=[0.001], m=5)
    assert one.ratio.shape == (1,)
    assert models.tcp_energy(p=np.array([]), m=5).ratio.shape == (0,)


def test_any_mix_broadcasts():
    p = np.geomspace(1e-4, 0.1, 7)[:, None]
    rtt_s = np.array([0.05, 0.1, 0.2])
    m = np.array([[[1]], [[5]]])
    solved = models.tcp_energy(p=p, rtt_s=rtt_s, m=m, q="0.3", rto_s="3s")
    assert solved.cam_j.shape == (2, 7, 3)
    for index in np.ndindex(2, 7, 3):
        alone = models.tcp_energy(p=p[index[1], 0], rtt_s=rtt_s[index[2]], m=int(m[index[0], 0, 0]))
        assert all(solved[name][index] == alone[name] for name in alone)


def test_arrays_of_any_layout_and_type():
    values = np.arange(1, 13, dtype=np.int32).reshape(3, 4)
    expected = models.tcp_energy(m=values.copy()).ratio
    assert (models.tcp_energy(m=np.asfortranarray(values)).ratio == expected).all()
    assert (models.tcp_energy(m=values[::-1, ::2]).ratio == expected[::-1, ::2]).all()
    assert (models.tcp_energy(m=values.astype(np.float32)).ratio == expected).all()
    assert (models.tcp_energy(m=values.tolist()).ratio == expected).all()


def test_components_add_up():
    rng = np.random.default_rng(1)
    solved = models.tcp_energy(p=10 ** rng.uniform(-6, -0.5, 1000), rtt_s=rng.uniform(0.01, 0.5, 1000), m=3)
    parts = solved.transmit_j + solved.receive_j + solved.idle_j + solved.sleep_j + solved.transition_j
    np.testing.assert_allclose(parts, solved.ideal_j, rtol=1e-12)
    times = solved.transmit_s + solved.receive_s + solved.idle_s + solved.sleep_s + solved.transition_s
    np.testing.assert_allclose(times - solved.overlap_s, solved.total_s, rtol=1e-9)


def test_choices_are_names():
    solved = models.psm_throughput(rtt_s=[0.05, 0.15], averaging=["per-round", "printed"])
    assert solved.regime.tolist() == ["mixed", "long"]
    assert models.psm_throughput(bottleneck="wifi").regime == "access-point"
    assert models.dcf_saturation(retries=None).drop_probability == 0.0


def test_a_radio_that_ships():
    powers = models.radio("broadcom-4311")
    assert powers["listen_w"] == pytest.approx(0.39)
    assert models.tcp_energy(p=0.01, **powers).cam_j != models.tcp_energy(p=0.01).cam_j
    default = models.tcp_energy(p=0.01, **models.radio("ar5004"))
    assert default.ideal_j == pytest.approx(models.tcp_energy(p=0.01).ideal_j, rel=1e-9)


def test_the_distribution_of_gaps_has_the_mean():
    gaps, weights = models.ack_gaps(throughput_bps=10e6)
    assert (gaps * weights).sum() / weights.sum() == pytest.approx(models.ack_gap(throughput_bps=10e6).gap_s)


@pytest.mark.parametrize("model", models.ALL.values(), ids=lambda model: model.name)
def test_every_model_documents_what_it_takes(model):
    assert all(name in model.__doc__ for name in [*model.parameters, *model.results])
    solved = model()
    arrays = model(**{name: np.full(3, solved_default) for name, solved_default in _numbers(model).items()})
    for name, value in solved.items():
        assert (arrays[name] == value).all()
        assert np.isfinite(value) if isinstance(value, float) else value in model.results[name].choices


def _numbers(model):
    return {f.name: f.default for f in model.parameters.values() if f.kind == "number"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"p": 0}, ["p: expected above 0 and below 1", "got 0"]),
        ({"p": 1.0}, ["p: expected above 0 and below 1", "got 1"]),
        ({"p": float("nan")}, ["p: expected", "got NaN"]),
        ({"p": [0.1, 0.2, np.inf]}, ["p: expected", "got inf", "point 2"]),
        ({"rtt_s": 0.0}, ["rtt_s: expected", "above zero", "got 0"]),
        ({"rtt_s": np.full((3, 2), -1.0)}, ["rtt_s: expected", "got -1", "point 0"]),
        ({"initial_packets": 0.5}, ["initial_packets: expected", "1 or more", "got 0.5"]),
        ({"q": 1}, ["q: expected", "below 1", "got 1"]),
        ({"m": 0}, ["m: expected", "1 to", "got 0"]),
        ({"m": 1.5}, ["m: expected", "whole", "got 1.5"]),
        ({"m": -1}, ["m: expected", "whole", "got -1"]),
        ({"p": [0.1, 0.2], "m": [1, 2, 3]}, ["p (2,)", "m (3,)", "broadcast"]),
        ({"p": "20ms"}, ["p: expected a number", "20ms"]),
        ({"rtt_s": "20"}, ["rtt_s", "20", "with its unit"]),
        ({"p": None}, ["p: expected", "None", "numbers"]),
        ({"p": 1j}, ["p", "numbers"]),
        ({"p": True}, ["p: expected", "True", "numbers"]),
        ({"p": [[0.1], [0.2, 0.3]]}, ["p", "numbers"]),
        ({"p": range}, ["p", "numbers"]),
        ({"accounting": "best"}, ["accounting", "best", "repaired, unclamped, printed"]),
        ({"accounting": 1}, ["accounting", "1", "repaired"]),
        ({"rtt": 0.1}, ["expected a parameter", "rtt_s"]),
        ({"p": 5e-324}, ["p: expected", "every result is finite", "got 5e-324"]),
    ],
    ids=str,
)
def test_bad_input_names_the_parameter_and_what_is_allowed(arguments, words):
    with pytest.raises(InputError) as caught:
        models.tcp_energy(**arguments)
    text = str(caught.value)
    assert text.startswith("tcp-energy: ")
    assert "\n" not in text
    assert all(word in text for word in words), text


def _wrong(field) -> list[object]:
    """Values that a parameter rejects, by its name: all reject NaN and infinity, and most reject negative numbers."""
    if field.kind == "choice":
        return ["frob", 1, None]
    wrong: list[object] = [float("nan"), float("-inf")]
    # No limit is represented by infinity.
    wrong += [] if field.kind == "whole-or-none" else [float("inf"), None]
    # A gain is any finite number.
    wrong += [] if field.name == "gain" else [-1]
    wrong += [1.5] if field.kind.startswith("whole") else []
    by_name = {
        "p": [0, 1],
        "q": [1, 1.5],
        "rtt_s": [0],
        "min_rtt_s": [0],
        "ratio_min": [0, 1.5],
        "m": [0],
        "b": [0],
        "initial_packets": [0, 0.9],
        "window_packets": [0, 0.9],
        "queue_packets": [0.5],
        "ap_queue_packets": [0.5],
        "retries": [256],
        "cw_max": [3],
        "stations": [0],
        "window": [0],
        "triggers": [1],
        "listen_w": [0],
    }
    return wrong + by_name.get(field.name, [])


def _every_parameter():
    return [(model, field) for model in models.ALL.values() for field in model.parameters.values()]


@pytest.mark.parametrize(("model", "field"), _every_parameter(), ids=lambda item: item.name)
def test_each_parameter_of_each_model_refuses_what_it_cannot_be(model, field):
    for value in _wrong(field):
        if model.name == "mac-frame" and (field.name, value) == ("listen_w", 0):
            continue  # a radio that listens for nothing can be weighed, if not compared with sleep
        # Solves one point alone, and the same point in the middle of an array.
        alone, among = ({field.name: each} for each in (value, [field.default, value, field.default]))
        for arguments in (alone, among):
            with pytest.raises(InputError) as caught:
                model(**arguments)
            text = str(caught.value)
            assert text.startswith(f"{model.name}: {field.name}: "), text
            assert ": expected " in text
            assert "\n" not in text


@pytest.mark.parametrize("model", models.ALL.values(), ids=lambda model: model.name)
def test_each_model_refuses_shapes_that_do_not_match(model):
    first, second = [field for field in model.parameters.values() if field.kind == "number"][:2]
    with pytest.raises(InputError) as caught:
        model(**{first.name: [first.default] * 2, second.name: [second.default] * 3})
    assert all(text in str(caught.value) for text in (model.name, f"{first.name} (2,)", f"{second.name} (3,)"))


@pytest.mark.parametrize("model", models.ALL.values(), ids=lambda model: model.name)
def test_each_parameter_on_the_command_line_refuses_what_it_cannot_be(airwatt, model):
    for field in model.parameters.values():
        for text in ("nan", "1e999", "5 parsecs"):
            answer = airwatt("model", model.name, "--param", f"{field.name}={text}")
            assert answer.status == 2, (field.name, text)
            assert answer.is_one_line(model.name, field.name), answer.err


_ANY = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 100)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(models.ALL)), st.data())
def test_results_are_finite_or_there_is_an_error(name, data):
    model = models.ALL[name]
    field = data.draw(st.sampled_from([f for f in model.parameters.values() if f.kind != "choice"]))
    value = data.draw(_ANY)
    try:
        solved = model(**{field.name: value})
    except InputError:
        return
    assert all(np.isfinite(result) for result in solved.values() if isinstance(result, float))


@pytest.mark.long
def test_a_million_points_take_less_than_a_second():
    rng = np.random.default_rng(1)
    p, m = 10 ** rng.uniform(-5, -1, 1_000_000), rng.integers(1, 20, 1_000_000)
    best = np.inf
    for _ in range(3):
        # Only the time of this process counts, so that other load on the machine does not matter.
        started = time.process_time()
        models.tcp_energy(p=p, m=m, rtt_s=0.1)
        best = min(best, time.process_time() - started)
    assert best < 1.0


def test_the_list_names_every_model(airwatt):
    answer = airwatt("model", "list")
    assert answer.status == 0
    assert all(name in answer.out for name in models.ALL)
    assert airwatt("model").out == answer.out
    listed = airwatt("model", "list", "--json").json
    assert [item["name"] for item in listed["models"]] == list(models.ALL)
    assert listed["models"][0]["parameters"][0].keys() >= {"name", "unit", "text", "default"}


@pytest.mark.parametrize("name", models.ALL)
def test_every_model_prints_in_eighty_columns(airwatt, name):
    for flags in ([], ["--describe"]):
        answer = airwatt("model", name, *flags)
        assert answer.status == 0, answer.err
        assert max(map(len, answer.out.splitlines())) <= 80


def test_the_document_has_every_point(airwatt):
    answer = airwatt("model", "tcp-energy", "--param", "rtt=10ms:300ms:5ms", "-p", "m=1,5", "-p", "p=0.01", "--json")
    document = answer.json
    assert (document["schema"], document["model"]) == (1, "tcp-energy")
    assert (document["parameters"]["p"], document["parameters"]["accounting"]) == (0.01, "repaired")
    assert len(document["points"]) == 59 * 2
    point = document["points"][-1]
    assert point["at"] == {"rtt_s": 0.3, "m": 5}
    assert point["results"] == dict(models.tcp_energy(rtt_s=0.3, m=5, p=0.01))
    assert answer.err == ""


def test_points_outside_the_region_of_a_model_are_counted(airwatt):
    # q^8 of 0.3 is 6.6e-5: below it nothing is left for the path to lose.
    text = airwatt("model", "tcp-energy", "-p", "p=1e-6,1e-4,0.01")
    assert "1 of 3 points are outside the model's region: p is below air_loss" in text.out
    document = json.loads(airwatt("model", "tcp-energy", "-p", "p=1e-6,1e-4,0.01", "--json").out)
    assert [(each["result"], each["points"]) for each in document["outside"]] == [("path_loss", 1)]
    within = airwatt("model", "tcp-energy", "-p", "p=1e-4", "--json")
    assert "outside" not in json.loads(within.out)


def test_choices_and_no_limit_in_the_document(airwatt):
    document = airwatt("model", "dcf-saturation", "-p", "retries=none,7", "--json").json
    assert [point["at"]["retries"] for point in document["points"]] == [None, 7]
    document = airwatt("model", "psm-throughput", "-p", "rtt=50ms", "-p", "averaging=printed,per-round", "--json").json
    assert document["points"][0]["at"] == {"averaging": "printed"}
    assert document["points"][0]["results"]["regime"] == "mixed"


def test_a_long_table_is_cut(airwatt):
    answer = airwatt("model", "tcp-energy", "-p", "p=0.001:0.5:0.001")
    assert "300 more rows; --json has all 500" in answer.out


@pytest.mark.parametrize(
    "values",
    [["rtt=50ms:300ms:50ms"], ["p=1e-4:0.1:x2", "m=1,5"], ["m=1,2", "accounting=repaired,printed"]],
    ids=str,
)
def test_pictures(airwatt, tmp_path, values):
    path = tmp_path / "model.png"
    flags = [flag for value in values for flag in ("-p", value)]
    answer = airwatt("model", "tcp-energy", *flags, "--plot", path)
    assert answer.status == 0, answer.err
    assert path.read_bytes().startswith(b"\x89PNG")
    first = path.read_bytes()
    airwatt("model", "tcp-energy", *flags, "--plot", path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frob"], ["frob", "expected a model (mac-frame"]),
        (["tcp-enrgy"], ["tcp-enrgy", "tcp-energy"]),
        (["tcp-energy", "-p", "rtt"], ["--param", "rtt", "KEY=VALUES"]),
        (["tcp-energy", "-p", "=1"], ["--param", "KEY=VALUES"]),
        (["tcp-energy", "-p", "frob=1"], ["frob"]),
        (["tcp-energy", "-p", "rtt=20"], ["rtt_s", "20", "with its unit", "20ms"]),
        (["tcp-energy", "-p", "rtt=20MB"], ["rtt_s", "20MB", "ms"]),
        (["tcp-energy", "-p", "rtt=0s"], ["rtt_s: expected", "above zero", "got 0"]),
        (["tcp-energy", "-p", "rtt=1ms:2ms"], ["rtt_s", "FROM:TO:STEP"]),
        (["tcp-energy", "-p", "rtt="], ["rtt_s", "20ms"]),
        (["tcp-energy", "-p", "p=nan"], ["p", "nan"]),
        (["tcp-energy", "-p", "p=0.1", "-p", "p=0.2"], ["p", "twice"]),
        (["tcp-energy", "-p", "wake_up=1ms"], ["wake_up_w or wake_up_s"]),
        (["tcp-energy", "-p", "accounting=frob"], ["accounting", "repaired"]),
        (["tcp-energy", "-p", "p=1e-4:0.1:1e-6", "-p", "m=1:100:1"], ["points", "1000000"]),
        (["tcp-energy", "--show", "frob"], ["--show", "frob", "ratio"]),
        (["tcp-energy", "--radio", "frob"], ["frob", "ar5004"]),
        (["ap-buffer", "--radio", "ar5004"], ["ap-buffer", "radio"]),
        (["tcp-energy", "--plot", "x.gif"], ["--plot", ".png"]),
        (["tcp-energy", "--plot", "x.png"], ["--plot", "one or two"]),
        (["list", "-p", "p=1"], ["expected the name of a model"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_arguments_are_one_line_and_status_2(airwatt, arguments, words):
    answer = airwatt("model", *arguments)
    assert answer.status == 2
    assert answer.is_one_line(*words), answer.err


def test_json_is_strict(airwatt):
    for name in models.ALL:
        json.loads(airwatt("model", name, "--json").out, parse_constant=lambda text: pytest.fail(text))


@pytest.mark.parametrize("m", [-1, -(10**100), 2**32, 2**127, 10**5000], ids=range(5))
def test_integers_out_of_range_are_named(m):
    with pytest.raises(InputError, match="m: expected 1 to 4294967295, got "):
        models.ack_gaps(throughput_bps=1e6, m=m)


_NUMBERS = [-1, 0, 2**64, -(2**63), 10**400, 10**5000, 1e308, -1e308, float("nan"), float("inf"), -float("inf"), 5e-324]


@pytest.mark.parametrize("number", _NUMBERS, ids=range(len(_NUMBERS)))
def test_no_number_is_anything_but_a_result_or_an_input_error(number):
    """Every parameter of every model, and every number that the core takes."""
    calls = [
        *(lambda m=m, name=name: m(**{name: number}) for m in models.ALL.values() for name in m.parameters),
        lambda: models.ack_gaps(throughput_bps=number),
        lambda: models.ack_gaps(throughput_bps=1e6, rtt_s=number),
        lambda: models.ack_gaps(throughput_bps=1e6, q=number),
        lambda: fairness.jain([number, 1]),
        lambda: fairness.fair_utilization([1], number),
        lambda: fairness.fair_utilization_alpha([1], 2, number),
        lambda: fairness.sliding_window([[1, 2]], number, 1),
        lambda: fairness.sliding_window([[1, 2]], 1, number),
        lambda: airwatt.run("fast-dsl", seed=number, set={"flow.application.size": "1kB"}),
    ]
    for call in calls:
        with contextlib.suppress(InputError, TypeError):
            call()
