"""Models against the simulator: the stated accuracy is met, and `airwatt model NAME --validate` reports it."""

import dataclasses
import math

import pytest
from conftest import ROOT

from airwatt import models, validate
from airwatt.validate import air
from airwatt.validate.cases import Figure, figure

QUICK = ("mac-frame", "wni-factors", "ba-ta-controller", "max-throughput", "energy-throughput")
"""Validations that take less than a second. All of them run with the pages of `docs/models`."""


def test_every_model_is_validated_and_its_page_has_the_picture():
    assert set(validate.ALL) == set(models.ALL)
    for name in validate.ALL:
        page = (ROOT / "docs" / "models" / f"{name}.md").read_text()
        assert f"$ airwatt model {name} --validate\n" in page
        assert f"(../img/models/{name}.png)" in page
        assert "**Stated accuracy" in page
        assert (ROOT / "docs" / "img" / "models" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", QUICK)
def test_the_stated_accuracy_is_kept_with_other_seeds(name):
    found = validate.validate(validate.ALL[name], seed=50)
    assert found.holds, [one for _, figures in found.rows for one in figures if not one.holds]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in validate.ALL if name not in QUICK])
@pytest.mark.parametrize("seed", [101, 201])
def test_the_stated_accuracy_is_kept_with_other_seeds_over_all(name, seed):
    found = validate.validate(validate.ALL[name], seed=seed)
    assert found.holds, [one for _, figures in found.rows for one in figures if not one.holds]


def test_a_figure_is_missed_only_beyond_the_interval_of_its_runs():
    one = figure("time", "s", [0.9, 1.1], 1.2, (-0.05, 0.05))
    assert one.difference == pytest.approx(0.2)
    assert one.ci95 > 1
    assert one.holds
    sure = Figure("time", "s", 1.0, 0.01, 1.07, (-0.05, 0.05))
    assert not sure.holds
    assert dataclasses.replace(sure, model=1.055).holds
    assert not dataclasses.replace(sure, model=0.93).holds
    assert figure("time", "s", [1.0], [1.0, 3.0], (0.0, 2.0)).model == 2.0


def test_the_document_is_complete_and_repeatable(airwatt):
    first, second = (airwatt("model", "max-throughput", "--validate", "--json", "--runs", "1") for _ in range(2))
    assert first.status == 0
    assert first.out == second.out
    document = first.json
    assert (document["schema"], document["model"], document["runs_per_point"]) == (1, "max-throughput", 1)
    assert len(document["points"]) == len(air.RATES_MBPS)
    for point in document["points"]:
        for one in point["figures"]:
            low, high = one["stated"]
            assert low <= one["difference"] <= high
            assert one["difference"] == pytest.approx(one["model"] / one["run"] - 1)
            assert math.isfinite(one["run"])


def test_what_is_not_kept_is_marked_and_the_status_is_1(airwatt, monkeypatch):
    kept = validate.ALL["max-throughput"]

    def strict(folder):
        cases = kept.cases(folder)
        return [
            dataclasses.replace(
                case,
                compare=lambda samples, case=case: [
                    dataclasses.replace(one, bounds=(0.5, 0.6)) for one in case.compare(samples)
                ],
            )
            for case in cases
        ]

    monkeypatch.setitem(validate.ALL, "max-throughput", dataclasses.replace(kept, cases=strict))
    answer = airwatt("model", "max-throughput", "--validate")
    assert answer.status == 1
    assert " % !" in answer.out
    assert "kept at 0 of 5 points" in " ".join(answer.out.split())


def test_tables_fit_and_the_picture_is_repeatable(airwatt, tmp_path):
    path = tmp_path / "frames.png"
    answer = airwatt("model", "mac-frame", "--validate", "--runs", "1", "--plot", path)
    assert answer.status == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    first = path.read_bytes()
    airwatt("model", "mac-frame", "--validate", "--runs", "1", "--plot", path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mac-frame", "--validate", "-p", "q=0.1"], ["--param", "validation"]),
        (["mac-frame", "--validate", "--radio", "ar5004"], ["--radio", "validation"]),
        (["mac-frame", "--validate", "--describe"], ["--describe", "validation"]),
        (["mac-frame", "--validate", "--runs", "0"], ["runs", "0"]),
        (["mac-frame", "--validate", "--seed", "-1"], ["seed", "-1"]),
        (["mac-frame", "--runs", "3"], ["--runs", "--validate"]),
        (["mac-frame", "--store", "new.runs"], ["--store", "--validate"]),
        (["list", "--validate"], ["expected the name of a model"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_arguments_are_one_line_and_status_2(airwatt, arguments, words):
    answer = airwatt("model", *arguments)
    assert answer.status == 2
    assert answer.is_one_line(*words), answer.err
