"""Who has the copyright of the crates in the packages, as packaging/debian/crates finds it."""

import re
import subprocess

from conftest import ROOT


def test_each_crate_has_a_holder_and_no_form_that_nobody_has_filled_in():
    printed = subprocess.run(
        [ROOT / "packaging/debian/crates", "linked"], stdout=subprocess.PIPE, text=True, check=True
    )
    crates = [one for one in printed.stdout.split("\n\n") if "Files: " in one]
    assert len(crates) > 50
    for crate in crates:
        (holders,) = re.findall(r"^Copyright: (.*(?:\n .*)*)$", crate, re.MULTILINE)
        assert holders.strip()
        assert not re.search(r"[<\[](year|yyyy|owner|name)|name of author|Software Foundation", holders), crate
