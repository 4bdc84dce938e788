"""How a candidate is set on what device makers use, or that a platform has no setting for it.

Sources, as of this version: iw(8), iwconfig(8) and net/wireless/wext-compat.c for the time-out of mac80211's dynamic
power save; `NMSettingWireless:powersave` of libnm; ESP-IDF's components/esp_wifi/Kconfig (the least active time is 8 to
60 ms) and `wifi_ps_type_t`; subsys/net/l2/wifi/wifi_shell.c and `wifi_ps_params` of Zephyr, which nRF Connect SDK uses;
and the commented hostapd.conf. Kits of chips beside a host are in `companion_kits`, and what ESP-IDF does beside in
`esp_idf`. docs/advise.md has the settings as a table. A driver or a firmware may ignore one.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airwatt import _core
from airwatt._core import InputError
from airwatt.advice import companion_kits
from airwatt.advice.candidate import AS_NRF70, AWAKE_TO_THE_END, ENDS_EARLY, Candidate
from airwatt.advice.setting import Setting
from airwatt.kits import ESP_USUAL_MS, KITS, LINUX, USUAL, kits_of, of_chip

NONE = "has no setting for it"
_ESP_LONGEST_MS = 60
"""The end of the range of CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME."""
PLATFORMS = (LINUX, "NetworkManager", "ESP-IDF", "nRF Connect SDK", "hostapd", "WiSeConnect", "pico-sdk", "WHD")
_ACCESS_POINTS = ("hostapd",)
TARGETS: Mapping[str, tuple[str, ...]] = {
    "linux": ("iw", "NetworkManager"),
    "esp-idf": ("ESP-IDF",),
    "nrf": ("nRF Connect SDK",),
    "zephyr": ("nRF Connect SDK",),
    "wiseconnect": ("WiSeConnect",),
    "pico-sdk": ("pico-sdk",),
    "whd": ("WHD",),
    "hostapd": ("hostapd",),
}
"""The platforms of what `--target` names. nRF Connect SDK has Zephyr's shell."""


def settings(candidate: Candidate) -> list[dict[str, object]]:
    """For each platform how the candidate is set; `set` is None if the platform has no setting for all of it."""
    return [
        {"platform": name, "set": None if one is None else str(one), "lines": [] if one is None else list(one.lines)}
        for name, one in zip(PLATFORMS, how(candidate), strict=True)
    ]


def lines(candidate: Candidate) -> list[str]:
    """The same as text, a line for each platform."""
    return described(how(candidate))


def described(settings: Sequence[Setting | None], chip: str = "") -> list[str]:
    """The settings of each platform as lines; with a chip those of Linux and of access points, if it has no kit."""
    shown = [pair for pair in zip(PLATFORMS, settings, strict=True) if not (chip and pair[0] in KITS)]
    own = [f"{chip}: the kit of its maker has no settings here"] if chip.startswith(_OTHER_SDK) else []
    return [*(f"{name}: {one or NONE}" for name, one in shown), *own]


def to_paste(target: str, settings: Sequence[Setting | None]) -> list[str]:
    """What to write on a target, with notes as comments."""
    found = []
    for name in TARGETS[target]:
        setting = settings[PLATFORMS.index(name)]
        if setting is None:
            continue
        comment = "//" if name in _IN_C else "#"
        own = [f"{comment} {name}"] if len(TARGETS[target]) > 1 else []
        for line in setting.lines:
            if line.startswith("CONFIG_") and (not own or not own[-1].startswith("CONFIG_")):
                own.append("# sdkconfig.defaults")
            own += [line] if name in _IN_C else _continued(line)
        # A comment that is wrapped goes on as a comment.
        note = textwrap.wrap(f"{comment} {setting.note}", 76, subsequent_indent=f"{comment}   ") if setting.note else []
        found += [*own, *note]
    return found


def needs_nothing(target: str, settings: Sequence[Setting | None]) -> bool:
    """Whether a target is as it has to be without a setting."""
    return all(settings[PLATFORMS.index(name)] == _NOTHING for name in TARGETS[target])


def _continued(line: str) -> list[str]:
    """A command that goes on in the next line where it is too long for one, so that it can be pasted."""
    *first, last = textwrap.wrap(line, 74, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return [*(f"{part} \\" for part in first), last]


def in_files(lines: Sequence[str]) -> list[str]:
    """Lines of ESP-IDF with the options of its configuration first, each of them once."""
    title = "# sdkconfig.defaults"
    options = list(dict.fromkeys(line for line in lines if line.startswith("CONFIG_")))
    code = [line for line in lines if line not in options and line != title]
    return [*([title, *options] if options else []), *code]


_IN_C = KITS - {"nRF Connect SDK"}


def words_of(target: str | None, chip: str) -> list[str]:
    """What `--target` names; without it, what it would name for each kit of the chip."""
    kits = [(kit,) for kit in kits_of(chip)]
    own = [next(name for name, platforms in TARGETS.items() if platforms == kit) for kit in kits]
    return own if target is None else [target]


_OTHER_SDK = ("cc3130",)
"""Chips with a kit of their makers', for which no settings are known here."""
_OF_ONE_MAKER = ("esp-idf", "nrf", "wiseconnect", "pico-sdk", "whd")


_WITH_WAKE_TIMES = {"esp32-c5": "ESP-IDF", "esp32-c6": "ESP-IDF", "nrf7002": "nRF Connect SDK"}
"""The platform of chips whose kit has a call for target wake time, by the begin of the radio's name."""
_AGREEING = "802.11ax"


def with_wake_times(target: str | None, chip: str) -> str | None:
    """The platform on which target wake time can be set: that of the chip, if it is among the target's."""
    own = next((platform for begin, platform in _WITH_WAKE_TIMES.items() if chip.startswith(begin)), None)
    if target is None:
        return own
    return own if own in TARGETS[target] else None


def agrees(standard: str) -> bool:
    """Whether access points of a standard can have agreements on wake times."""
    return standard.startswith(_AGREEING)


def as_set(platform: str | None, candidate: Candidate) -> list[Candidate]:
    """The candidate as a platform keeps it.

    Firmware of the nRF70 has habits that its maker documents. Of ESP-IDF it is not published whether the station
    sleeps as soon as the access point ends it, so that there are both.
    """
    if platform is None or not has_one_agreement(candidate):
        return [candidate]
    kinds = [AS_NRF70] if platform == "nRF Connect SDK" else [AWAKE_TO_THE_END, ENDS_EARLY]
    return [replace(candidate, parameters=(*candidate.parameters, kind)) for kind in kinds]


def check_fits(target: str | None, chip: str) -> None:
    """Raises `InputError` for a target that is another maker's than the chip."""
    if target not in _OF_ONE_MAKER:
        return
    kits = kits_of(chip)
    if chip.startswith(_OTHER_SDK) or (kits and not set(kits) & set(TARGETS[target])):
        kit = " or ".join(kits) or "a kit that has no settings here"
        raise InputError(f"--target {target}: expected a radio of {TARGETS[target][0]}, got {chip}, which is of {kit}")


def host_to_paste(lines: Sequence[str]) -> list[str]:
    """What sets a mode of the host, with all that is no line of a file as comments.

    The call that sets power save is left out: it is that of the advice.
    """
    found: list[str] = []
    for line in lines:
        if line.startswith("esp_wifi_set_ps("):
            continue
        if line.startswith("CONFIG_") and not any(each.startswith("CONFIG_") for each in found):
            found.append("# sdkconfig.defaults")
        found += [line] if line.startswith("CONFIG_") else textwrap.wrap(f"// {line}", 76, subsequent_indent="//   ")
    return found


def skipped(listen_interval: object, *, instead_of_dtims: bool = False) -> int | None:
    """The beacons of a listen interval that has to be set, since no platform comes with it: a number above 1.

    Or 1 `instead_of_dtims`, of a chip that receives DTIM beacons alone as it comes.
    """
    beacons = int(str(listen_interval)) if str(listen_interval).isdecimal() else 0
    return beacons if beacons > 1 or (beacons == 1 and instead_of_dtims) else None


def can_set(platform: str, candidate: Candidate) -> bool:
    """Whether a platform has a setting for all of a candidate."""
    setting = how(candidate)[PLATFORMS.index(platform)]
    return setting is not None and setting.whole


def is_for(target: str, candidate: Candidate) -> bool:
    """Whether what `--target` names has a setting for all of a candidate.

    An early end of service periods has none anywhere; it is told beside what can be set.
    """
    return any(can_set(platform, candidate.awake_to_the_end()) for platform in TARGETS[target])


def usual_of(target: str | None, chip: str) -> str | None:
    """The platform whose time-out as it comes is one of a target's or, without one, of the chip's kit or of Linux."""
    if target is None:
        return of_chip(chip) or LINUX
    return next((platform for platform in TARGETS[target] if platform in USUAL), None)


def is_usual(platform: str | None, candidate: Candidate) -> bool:
    """Whether it is what a platform does with nothing else set: its time-out, or no power save."""
    if platform not in USUAL:
        return False
    timeout, dozing = USUAL[platform], _policies()[candidate.policy]["dozing"]
    if timeout is None:
        return candidate.policy == "active"
    return candidate.parameters == (("timeout", timeout),) and dozing == "after timeout"


def can_be_set(candidate: Candidate) -> bool:
    """Whether some station's platform has a setting for all of a candidate."""
    return any(can_set(platform, candidate) for platform in PLATFORMS if platform not in _ACCESS_POINTS)


_NOTHING = Setting((), "nothing to set")


_BEFORE_CONNECTING = "the listen interval before connecting"


def _esp_mode(beacons: int | None) -> tuple[str, ...]:
    """The calls that have it receive each DTIM beacon, or one beacon in so many."""
    if beacons is None:
        return ("esp_wifi_set_ps(WIFI_PS_MIN_MODEM);",)
    return (f"wifi_config.sta.listen_interval = {beacons};", "esp_wifi_set_ps(WIFI_PS_MAX_MODEM);")


def _esp_timeout(wait_ms: int, beacons: int | None = None) -> Setting:
    mode = _esp_mode(beacons)
    before = [] if beacons is None else [_BEFORE_CONNECTING]
    if wait_ms == ESP_USUAL_MS:
        return Setting(mode, "; ".join([*before, f"as it comes, its least active time is {wait_ms} ms"]))
    if wait_ms <= _ESP_LONGEST_MS:
        active = f"CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME={wait_ms}"
        return Setting(("CONFIG_ESP_WIFI_SLP_IRAM_OPT=y", active, *mode), "; ".join(before))
    return Setting(
        (*mode, f"esp_wifi_set_sleep_min_active_time({1000 * wait_ms});"),
        "; ".join([*before, f"of esp_private/wifi.h, since the Kconfig option ends at {_ESP_LONGEST_MS} ms"]),
    )


_AFTER_CONNECTING = "after connecting to an access point of 802.11ax that has target wake time"


def _wake_times(request: tuple[int, int, int]) -> tuple[Setting, ...]:
    """The calls of ESP-IDF and nRF Connect SDK for an announced agreement: mantissa, exponent, units of 256 us."""
    mantissa, exponent, units = request
    config = (
        f"wifi_twt_setup_config_t twt = {{ .setup_cmd = TWT_REQUEST, .flow_type = 0, .min_wake_dura = {units}, "
        f".wake_invl_mant = {mantissa}, .wake_invl_expn = {exponent}, .timeout_time_ms = 5000 }};"
    )
    wifi_6 = f"{_AFTER_CONNECTING}; of chips with 802.11ax"
    return (
        Setting((config, "esp_wifi_sta_itwt_setup(&twt);"), wifi_6),
        Setting((f"wifi twt quick_setup {256 * units} {mantissa << exponent}",), _AFTER_CONNECTING),
    )


def is_esp_idf(chip: str, target: str | None) -> bool:
    """Whether the settings are those of ESP-IDF: of the target, or without one of the chip."""
    return of_chip(chip) == "ESP-IDF" if target is None else target == "esp-idf"


def _dtim(beacons: int) -> Setting:
    return Setting((f"dtim_period={beacons}",), "has the same effect for stations that receive DTIM beacons")


@functools.cache
def _policies() -> dict[str, dict[str, Any]]:
    """What each policy says of itself, by its name."""
    found: dict[str, dict[str, Any]] = json.loads(_core.advise_policies())
    return found


def has_one_agreement(candidate: Candidate) -> bool:
    """Whether it keeps to one agreement on wake times, which is what kits can set."""
    return "interval" in dict(candidate.parameters) and bool(_policies()[candidate.policy]["needs_agreement"])


_LINUX_TIMEOUT = "of mac80211, but not iwlwifi, and of brcmfmac: iw has no command for the time-out"
_OF_DRIVER = {
    1500: "; wl12xx and wl18xx have this one as they come",
    2000: "; brcmfmac has this one as it comes",
}
"""By time-out in milliseconds: drivers that have it without a setting (docs/station.md)."""
_DROP_IN = (
    "install -D -m 644 -t /etc/NetworkManager/conf.d /usr/share/doc/airwattd/examples/90-airwatt-station.conf",
    "systemctl reload NetworkManager",
)
"""What keeps NetworkManager from setting power save beside the daemon; the Debian package has the file there."""


def _milliseconds(time: str) -> int:
    """A time-out as the core writes it: `50ms`, `1.5s`."""
    return int(time.removesuffix("ms")) if time.endswith("ms") else round(1000 * float(time.removesuffix("s")))


def how(candidate: Candidate) -> tuple[Setting | None, ...]:
    """How the candidate is set on each of `PLATFORMS`; None where a platform has no setting for it."""
    policy, beacons = _policies()[candidate.policy], candidate.listen_interval
    others: tuple[Setting | None, ...] = (None, None, None)
    if policy["dozing"] == "never" and policy["runs_on_drivers"]:
        others = tuple(companion_kits.NEVER[name] for name in PLATFORMS[-3:])
    elif policy["dozing"] == "after timeout" or (policy["dozing"] == "between beacons" and not policy["uapsd"]):
        timeout = dict(candidate.parameters).get("timeout", "100ms") if policy["dozing"] == "after timeout" else None
        asked = (None if timeout is None else _milliseconds(timeout), beacons)
        others = (companion_kits.wiseconnect(*asked), companion_kits.pico_sdk(*asked), companion_kits.whd(*asked))
    return (*_of_others(candidate), *others)


def _of_others(candidate: Candidate) -> tuple[Setting | None, ...]:
    """The same of all but the kits of chips beside a host."""
    values = dict(candidate.parameters)
    beacons = candidate.listen_interval
    policy = _policies()[candidate.policy]
    dozing = policy["dozing"]
    on, modify = "iw dev wlan0 set power_save on", "nmcli connection modify NAME 802-11-wireless.powersave"
    listening, dtims = ("wifi ps_wakeup_mode listen_interval", "wifi ps on"), ("wifi ps_wakeup_mode dtim", "wifi ps on")
    # With this policy the access point sends as soon as the station says that it is awake, without polls or triggers.
    legacy = "wifi ps_mode legacy"
    if dozing == "never" and policy["runs_on_drivers"]:
        return (
            Setting(("iw dev wlan0 set power_save off",)),
            Setting((f"{modify} 2",)),
            Setting(("esp_wifi_set_ps(WIFI_PS_NONE);",)),
            Setting(("wifi ps off",)),
            _NOTHING,
        )
    if dozing == "after timeout":
        count = _milliseconds(values.get("timeout", "100ms"))
        if beacons is not None:
            interval = (f"wifi ps_listen_interval {beacons}", legacy, f"wifi ps_timeout {count}")
            return (
                None,
                None,
                _esp_timeout(count, beacons),
                Setting((*interval, *listening), "before connecting"),
                _dtim(beacons),
            )
        return (
            Setting((on, f"iwconfig wlan0 power timeout {count}m"), _LINUX_TIMEOUT + _OF_DRIVER.get(count, "")),
            Setting((f"{modify} 3",), "it cannot set the time-out", whole=False),
            _esp_timeout(count),
            Setting((legacy, f"wifi ps_timeout {count}", *dtims)),
            _NOTHING,
        )
    fetch = (f"wifi ps_mode {'WMM' if policy['uapsd'] else 'legacy'}", "wifi ps_timeout 0")
    if dozing == "between beacons" and beacons is None:
        return (
            Setting((on, "iwconfig wlan0 power timeout 0")),
            None,
            # It stays awake for 8 ms at least after traffic, which is policy timeout.
            None,
            Setting((*fetch, *dtims), "it receives DTIM beacons only"),
            Setting(("uapsd_advertisement_enabled=1",)) if policy["uapsd"] else _NOTHING,
        )
    if dozing == "between beacons":
        assert beacons is not None
        awake = f"after traffic it stays awake for {ESP_USUAL_MS} ms all the same, as policy timeout does"
        return (
            None,
            None,
            Setting(_esp_mode(beacons), f"{_BEFORE_CONNECTING}; {awake}", whole=False),
            Setting((f"wifi ps_listen_interval {beacons}", *fetch, *listening), "before connecting"),
            _dtim(beacons),
        )
    if policy["needs_agreement"]:
        if not has_one_agreement(candidate):
            return (None,) * 5
        kits = _wake_times(_core.wake_request(values["interval"]))
        if candidate.ends_early:
            kits = tuple(kit._replace(note=f"{kit.note}; an early end has no setting", whole=False) for kit in kits)
        return (None, None, *kits, None)
    if beacons is not None:
        return (None, None, None, None, _dtim(beacons))
    if policy["runs_on_drivers"] and not policy["uapsd"]:
        daemon = "systemctl enable --now airwattd-station"
        under_manager = Setting((*_DROP_IN, daemon), "in the source tree the file is in packaging/NetworkManager")
        return (Setting((daemon,), "docs/station.md"), under_manager, None, None, _NOTHING)
    # Only the access point's part of U-APSD has a setting that is common to drivers.
    access_point = Setting(("uapsd_advertisement_enabled=1",), whole=False)
    nordic = Setting(("wifi ps_mode WMM",), "its firmware decides when to trigger", whole=False)
    return (None, None, None, nordic, access_point if policy["uapsd"] else _NOTHING)
