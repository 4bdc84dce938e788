"""The output in the README is that of the commands; `--bless` writes it anew."""

import re

from conftest import ROOT

import pages

README = ROOT / "README.md"


def test_the_readme_shows_what_the_commands_print(airwatt, request):
    assert len(pages.shown(README.read_text())) == 3
    pages.check(README, airwatt.output, request.config.getoption("--bless"))


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        # There are fewer repetitions, because the test only checks that the code runs.
        exec(block.replace("runs=10", "runs=2").replace('"all"', '["psm"]'), {})
