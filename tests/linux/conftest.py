"""Fixtures of the tests between real kernels."""

import pytest
from lab import exclusive

from congestion import cc, host


@pytest.fixture
def kernel():
    """One test at a time, in a kernel that has none of our congestion controls before and after."""
    with exclusive():
        before = host()
        yield
        cc("unload", "--force")
        assert host() == before
