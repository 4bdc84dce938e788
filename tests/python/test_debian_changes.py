"""What CHANGELOG.md says of a Debian package."""

import re
import subprocess

import pytest
from conftest import ROOT

CHANGES = ROOT / "packaging" / "debian" / "changes"


def changes(package: str) -> str:
    log = (ROOT / "CHANGELOG.md").read_text()
    words = [CHANGES, package, "1.2", "2026-01-31"]
    return subprocess.run(words, input=log, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("package", ["airwattd", "airwatt"])
def test_each_heading_has_something_below_it(package):
    lines = [line for line in changes(package).splitlines() if line]
    assert "## 1.2 (2026-01-31)" in lines
    assert not any("Unreleased" in line for line in lines)
    for line, following in zip(lines, [*lines[1:], "#"], strict=True):
        depth = re.match(r"#*", line).end()
        # The next heading is a part of this one.
        assert not depth or re.match(r"#*", following).end() not in range(1, depth + 1), line


def test_the_package_of_the_daemon_has_what_is_the_daemons_and_the_laboratory_has_all():
    daemon, everything = changes("airwattd"), changes("airwatt")
    assert "- `airwattd station`" in daemon
    assert "airwatt reproduce" not in daemon
    log = (ROOT / "CHANGELOG.md").read_text()
    assert [line for line in everything.splitlines() if line.startswith("- ")] == [
        line for line in log.splitlines() if line.startswith("- ")
    ]
