"""Settings of chips beside a host: SiWx917 with WiSeConnect, CYW43439 with pico-sdk or Infineon's WHD.

Sources: sl_wifi.h and `sl_wifi_performance_profile_v2_t` of WiSeConnect 3 (listen interval and monitor interval in
milliseconds; FAST PSP is ASSOCIATED_POWER_SAVE_LOW_LATENCY with 50 ms if not set, MAX PSP is ASSOCIATED_POWER_SAVE);
cyw43.h of cyw43-driver, which pico-sdk has (`cyw43_pm_value`: PM2 returns to sleep after 10 to 2000 ms in steps of 10,
listen intervals have four bits); whd_wifi_api.h of WHD. That MAX PSP and PM1 fetch each packet with a PS-Poll is in the
header for PM1 and from memory for MAX PSP. Left out: target wake time of the SiWx917, and U-APSD.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from airwatt.advice.setting import Setting

_BEACON_MS = 102.4
_FOUR_BITS = 15
_PM2_MS = range(10, 2001, 10)
_LISTENS_MS = 1000
"""The listen interval that WiSeConnect announces as it comes."""


def wiseconnect(timeout_ms: int | None, beacons: int | None) -> Setting:
    """FAST PSP that sleeps so long after the last packet, or MAX PSP without a time."""
    fast = timeout_ms is not None
    profile = "ASSOCIATED_POWER_SAVE_LOW_LATENCY" if fast else "ASSOCIATED_POWER_SAVE"
    listens_ms = math.ceil(_BEACON_MS * (beacons or 1))
    lines = [
        "sl_wifi_performance_profile_v2_t profile = { 0 };",
        f"profile.profile = {profile};",
        *([f"profile.monitor_interval = {timeout_ms};"] if fast else []),
        f"profile.listen_interval = {listens_ms};",
        "sl_wifi_set_performance_profile_v2(&profile);",
    ]
    notes = ["milliseconds; it wakes up for the last beacon within the listen interval"]
    if listens_ms > _LISTENS_MS:
        notes.append(f"before connecting sl_wifi_set_listen_interval_v2() with as many: {_LISTENS_MS} as it comes")
    return Setting(tuple(lines), "; ".join(notes))


def pico_sdk(timeout_ms: int | None, beacons: int | None) -> Setting | None:
    """PM2 with its return to sleep, or PM1, which asks for each packet; None outside of what the value holds."""
    if (timeout_ms is not None and timeout_ms not in _PM2_MS) or (beacons or 1) > _FOUR_BITS:
        return None
    mode = "CYW43_PM1_POWERSAVE_MODE" if timeout_ms is None else "CYW43_PM2_POWERSAVE_MODE"
    # As CYW43_DEFAULT_PM has it without a listen interval: each DTIM beacon, and ten beacons told to the access point.
    intervals = "1, 1, 10" if beacons is None else f"{beacons}, 0, {beacons}"
    value = f"cyw43_pm_value({mode}, {timeout_ms or _PM2_MS[0]}, {intervals})"
    return Setting(
        ("cyw43_wifi_pm(&cyw43_state,", f"    {value});"), "" if beacons is None else "before connecting, too"
    )


def whd(timeout_ms: int | None, beacons: int | None) -> Setting | None:
    """The same with WHD."""
    if timeout_ms is not None and timeout_ms not in _PM2_MS:
        return None
    call = "" if timeout_ms is None else "_with_throughput"
    listening = f"whd_wifi_set_listen_interval(ifp, {beacons}, WHD_LISTEN_INTERVAL_TIME_UNIT_BEACON);"
    power_save = f"whd_wifi_enable_powersave{call}(ifp{'' if timeout_ms is None else f', {timeout_ms}'});"
    return Setting(
        (*([] if beacons is None else [listening]), power_save), "" if beacons is None else "before connecting"
    )


NEVER = {
    "WiSeConnect": Setting(
        ("sl_wifi_performance_profile_v2_t profile = { .profile = HIGH_PERFORMANCE };",
         "sl_wifi_set_performance_profile_v2(&profile);")
    ),
    "pico-sdk": Setting(("cyw43_wifi_pm(&cyw43_state, CYW43_NONE_PM);",), "older drivers: CYW43_DEFAULT_PM & ~0xf"),
    "WHD": Setting(("whd_wifi_disable_powersave(ifp);",)),
}  # fmt: skip
"""Without power save."""


def hints(chip: str) -> Iterator[str]:
    """What else these kits have, beside what sets a candidate."""
    if chip.startswith("siwx917"):
        yield (
            "WiSeConnect has power save off as it comes. sl_wifi_filter_broadcast(5000, 1, 1) has it ignore frames to "
            "everyone that the TIM announces, which no figure here has: fewer wake-ups in an office, but a peer that "
            "asks for its address (ARP) gets no answer. profile.dtim_aligned_type = SL_WIFI_ALIGN_WITH_DTIM_BEACON "
            "takes the last DTIM beacon within the listen interval instead of the last beacon"
        )
        yield (
            "the M4 beside this radio is not in these figures. It sleeps in FreeRTOS' tickless idle with the component "
            "Power Manager, as long as nothing has asked sl_si91x_power_manager_add_ps_requirement() for PS4 or PS3"
        )
    if chip.startswith("nrf7002"):
        yield (
            "in C each line is a net_mgmt(NET_REQUEST_WIFI_PS, iface, &params, sizeof(params)) with a struct "
            "wifi_ps_params of zephyr/net/wifi_mgmt.h: type WIFI_PS_PARAM_TIMEOUT with timeout_ms, "
            "WIFI_PS_PARAM_LISTEN_INTERVAL with listen_interval, WIFI_PS_PARAM_MODE with mode = WIFI_PS_MODE_LEGACY or "
            "_WMM, WIFI_PS_PARAM_WAKEUP_MODE with wakeup_mode = WIFI_PS_WAKEUP_MODE_DTIM or _LISTEN_INTERVAL, and at "
            "last WIFI_PS_PARAM_STATE with enabled = WIFI_PS_ENABLED"
        )
        yield (
            "the host of this companion chip is not in these figures. Zephyr's idle thread lets an nRF53 sleep; a "
            "serial port that may receive keeps a clock of it running, so that a device in the field has "
            "CONFIG_SERIAL=n, or its asynchronous driver with CONFIG_UART_ASYNC_API and the receiver off"
        )
    if chip.startswith("cyw43439"):
        yield (
            "the names of cyw43-driver are not those of all its versions: CYW43_PERFORMANCE_PM, which is "
            "CYW43_DEFAULT_PM, is PM2 with 200 ms today and was PM2 with 20 ms; CYW43_AGGRESSIVE_PM is PM1 today and "
            "was PM2 with 2 s. cyw43_pm_value() says what it means: mode, milliseconds until it returns to sleep, "
            "beacons, DTIM periods (0: beacons count), and the listen interval that the access point is told. WHD has "
            "200 ms as it comes, too, and its return to sleep is a multiple of 10 ms"
        )
