"""The output in the README is that of the commands; `--bless` writes it anew."""

import re
import shlex

from conftest import ROOT

README = ROOT / "README.md"
_SHOWN = re.compile(r"^    \$ airwatt (?P<command>.*)\n(?P<output>(?:    .*\n|\n(?=    ))*)", re.MULTILINE)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def test_the_readme_shows_what_the_commands_print(airwatt, request):
    text = README.read_text()
    shown = list(_SHOWN.finditer(text))
    assert len(shown) == 2
    renewed = text
    for match in shown:
        answer = airwatt(*shlex.split(match["command"]))
        assert answer.status == 0, answer.err
        renewed = renewed.replace(match["output"], _indented(answer.out))
    if request.config.getoption("--bless"):
        README.write_text(renewed)
    assert renewed == text or request.config.getoption("--bless")


def test_the_python_of_the_readme_runs():
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        # There are fewer repetitions, because the test only checks that the code runs.
        exec(block.replace("runs=10", "runs=2"), {})
