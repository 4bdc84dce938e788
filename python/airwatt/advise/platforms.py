"""How a candidate is set on what device makers use, or that a platform has no setting for it.

Sources, as of this version: iw(8), iwconfig(8) and net/wireless/wext-compat.c for the time-out of mac80211's dynamic
power save; `NMSettingWireless:powersave` of libnm; ESP-IDF's components/esp_wifi/Kconfig (the least active time is 8 to
60 ms) and `wifi_ps_type_t`; subsys/net/l2/wifi/wifi_shell.c and `wifi_ps_params` of Zephyr, which nRF Connect SDK uses;
and the commented hostapd.conf. docs/advise.md has them as a table. A driver or a firmware may ignore a setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airwatt.advise.candidate import Candidate

_NONE = "has no setting for it"
_ESP_LONGEST_MS = 60
"""The end of the range of CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME."""
_ESP_USUAL_MS = 50
"""Its value if it is not set, so that policy `timeout` of 50 ms stands for WIFI_PS_MIN_MODEM as it comes."""
PLATFORMS = ("iw", "NetworkManager", "ESP-IDF", "nRF Connect SDK", "hostapd")


def settings(candidate: Candidate) -> list[dict[str, str | None]]:
    """For each platform how the candidate is set; `set` is None if the platform has no setting for all of it."""
    return [{"platform": name, "set": how} for name, how in zip(PLATFORMS, _how(candidate), strict=True)]


def lines(candidate: Candidate) -> list[str]:
    """The same as text, a line for each platform."""
    return described(_how(candidate))


def described(settings: Sequence[str | None]) -> list[str]:
    """The settings of each platform as lines."""
    return [f"{name}: {how or _NONE}" for name, how in zip(PLATFORMS, settings, strict=True)]


_OF_RADIO = {"esp32": "ESP-IDF", "nrf7002": "nRF Connect SDK"}
"""The platform of a chip, by the begin of its radio's name."""


def of_radio(radio: str) -> str | None:
    """The platform on which a radio's chip is programmed, if there is one alone."""
    return next((platform for begin, platform in _OF_RADIO.items() if radio.startswith(begin)), None)


def can_set(platform: str, candidate: Candidate) -> bool:
    """Whether a platform has a setting for all of a candidate."""
    is_set = _how(candidate)[PLATFORMS.index(platform)] is not None
    # ESP-IDF always stays awake after traffic.
    return is_set and not (platform == "ESP-IDF" and candidate.policy in ("psm", "psm-legacy"))


def _esp_listening(beacons: int) -> str:
    return f"listen_interval = {beacons} in wifi_sta_config_t, then esp_wifi_set_ps(WIFI_PS_MAX_MODEM)"


def _esp_timeout(wait_ms: int) -> str:
    mode = "esp_wifi_set_ps(WIFI_PS_MIN_MODEM)"
    if wait_ms == _ESP_USUAL_MS:
        return f"{mode} as it comes: its least active time is {wait_ms} ms"
    if wait_ms <= _ESP_LONGEST_MS:
        active = f"CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME={wait_ms}"
        return f"{mode}, CONFIG_ESP_WIFI_SLP_IRAM_OPT=y and {active}"
    return (
        f"{mode} and esp_wifi_set_sleep_min_active_time({1000 * wait_ms}) of esp_private/wifi.h; its Kconfig option "
        f"ends at {_ESP_LONGEST_MS} ms"
    )


def _how(candidate: Candidate) -> tuple[str | None, ...]:
    values = dict(candidate.parameters)
    beacons = candidate.listen_interval
    if candidate.policy == "active":
        return (
            "iw dev wlan0 set power_save off",
            "802-11-wireless.powersave 2 (nmcli connection modify NAME ...)",
            "esp_wifi_set_ps(WIFI_PS_NONE)",
            "wifi ps off",
            "nothing to set",
        )
    if candidate.policy == "timeout" and beacons is not None:
        wait = values.get("timeout", "100ms").removesuffix("ms")
        return (
            None,
            None,
            f"{_esp_listening(beacons)}, as it comes: its least active time is {_ESP_USUAL_MS} ms"
            if int(wait) == _ESP_USUAL_MS
            else None,
            f"wifi ps_timeout {wait}, wifi ps_listen_interval {beacons} before connecting, wifi ps_wakeup_mode "
            "listen_interval, wifi ps on",
            f"dtim_period={beacons} has the same effect for stations that receive DTIM beacons",
        )
    if candidate.policy == "timeout":
        wait = values.get("timeout", "100ms")
        count = wait.removesuffix("ms")
        return (
            f"iw dev wlan0 set power_save on; the time-out only by iwconfig wlan0 power timeout {count}m",
            "802-11-wireless.powersave 3; it cannot set the time-out",
            _esp_timeout(int(count)),
            f"wifi ps_timeout {count}, then wifi ps on",
            "nothing to set",
        )
    if candidate.policy in ("psm", "psm-legacy"):
        if beacons is None:
            return (
                "iw dev wlan0 set power_save on; iwconfig wlan0 power timeout 0",
                None,
                # It stays awake for 8 ms at least after traffic, which is policy timeout.
                None,
                f"wifi ps_mode {'WMM' if candidate.policy == 'psm' else 'legacy'}, wifi ps_timeout 0, wifi ps on; "
                "it receives DTIM beacons only",
                "uapsd_advertisement_enabled=1" if candidate.policy == "psm" else "nothing to set",
            )
        return (
            None,
            None,
            f"{_esp_listening(beacons)}; after traffic it stays awake for {_ESP_USUAL_MS} ms all the same, as policy "
            "timeout does",
            f"wifi ps_listen_interval {beacons} before connecting, wifi ps_wakeup_mode listen_interval, wifi ps on",
            f"dtim_period={beacons} has the same effect for stations that receive DTIM beacons",
        )
    if candidate.policy == "latency-guard":
        daemon = "airwattd station (docs/station.md)"
        return (daemon, f"{daemon}, with its drop-in file", None, None, "nothing to set")
    # Only the access point's part of U-APSD has a setting that is common to drivers.
    access_point = "uapsd_advertisement_enabled=1" if candidate.policy != "psm-throttling" else "nothing to set"
    return (None, None, None, "wifi ps_mode WMM; its firmware decides when to trigger", access_point)
