"""The daemon under Debian's own kernel, which has simulated Wi-Fi radios, in a virtual machine.

One test of `test_wifi.py`: that the daemon and its eBPF program run on a kernel that nobody has changed. The others run
in virtual time (`test_wifi_user_mode.py`), which takes a fraction of the time.
"""

import pytest
from lab import DAEMON

from debian_kernel import passes_there


@pytest.mark.long
@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")
def test_under_debians_kernel():
    words = ("tests/linux/test_wifi.py", "-k", "follows_the_traffic", "-s")
    needs = ("hostapd", "wpa_supplicant", "iw")
    assert "skipped" not in passes_there(*words, needs=needs, module="mac80211_hwsim radios=3")
