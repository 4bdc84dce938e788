"""How a candidate is set on what device makers use, or that a platform has no setting for it.

Linux: `iw`, and `iwconfig` for the time-out of mac80211's dynamic power save; NetworkManager; ESP-IDF
(`esp_wifi_set_ps`, `listen_interval` of `wifi_sta_config_t`, `CONFIG_ESP_WIFI_SLP_*`); nRF Connect SDK (the `wifi ps*`
commands of Zephyr, `wifi_ps_params` in code); and hostapd for what the access point decides. Settings have the names of
their documentation; a driver or a firmware may ignore them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airwatt.advise.answer import Candidate

_NONE = "has no setting for it"
PLATFORMS = ("iw", "NetworkManager", "ESP-IDF", "nRF Connect SDK", "hostapd")


def settings(candidate: Candidate) -> list[dict[str, str | None]]:
    """For each platform how the candidate is set; `set` is None if the platform has no setting for all of it."""
    return [{"platform": name, "set": how} for name, how in zip(PLATFORMS, _how(candidate), strict=True)]


def lines(candidate: Candidate) -> list[str]:
    """The same as text, a line for each platform."""
    return [f"{name}: {how or _NONE}" for name, how in zip(PLATFORMS, _how(candidate), strict=True)]


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
    if candidate.policy == "timeout":
        wait = values.get("timeout", "100ms")
        count = wait.removesuffix("ms")
        return (
            f"iw dev wlan0 set power_save on; the time-out only by iwconfig wlan0 power timeout {count}m",
            "802-11-wireless.powersave 3; it cannot set the time-out",
            f"esp_wifi_set_ps(WIFI_PS_MIN_MODEM) and CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME={count}",
            f"wifi ps_timeout {count}, then wifi ps on",
            "nothing to set",
        )
    if candidate.policy in ("psm", "psm-legacy"):
        if beacons is None:
            return (
                "iw dev wlan0 set power_save on; iwconfig wlan0 power timeout 0",
                None,
                "esp_wifi_set_ps(WIFI_PS_MIN_MODEM) with the least CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME",
                f"wifi ps_mode {'WMM' if candidate.policy == 'psm' else 'legacy'}, wifi ps on",
                "uapsd_advertisement_enabled=1" if candidate.policy == "psm" else "nothing to set",
            )
        return (
            None,
            None,
            f"listen_interval = {beacons} in wifi_sta_config_t, then esp_wifi_set_ps(WIFI_PS_MAX_MODEM)",
            f"wifi ps_listen_interval {beacons} before connecting, wifi ps_wakeup_mode listen_interval, wifi ps on",
            f"dtim_period={beacons} has the same effect for stations that receive DTIM beacons",
        )
    # Only the access point's part of U-APSD has a setting that is common to drivers.
    access_point = "uapsd_advertisement_enabled=1" if candidate.policy != "psm-throttling" else "nothing to set"
    return (None, None, None, "wifi ps_mode WMM; its firmware decides when to trigger", access_point)
