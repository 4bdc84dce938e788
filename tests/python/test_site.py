"""The pages of the documentation site."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="the checkout is not of git")
@pytest.mark.parametrize("without", [{}, {"SITE_WITHOUT_RUST": "1"}])
def test_no_page_leads_to_references_that_were_left_out(tmp_path, without):
    environment = {key: value for key, value in os.environ.items() if key != "SITE_WITHOUT_RUST"} | without
    subprocess.run([sys.executable, ROOT / ".ci" / "site.py", tmp_path], check=True, env=environment)
    assert ("rust.md" in (tmp_path / "mkdocs.yml").read_text()) is (not without)
    assert (tmp_path / "pages" / "rust.md").exists() is (not without)
