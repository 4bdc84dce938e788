"""How a candidate is set on what device makers use, or that a platform has no setting for it.

Sources, as of this version: iw(8), iwconfig(8) and net/wireless/wext-compat.c for the time-out of mac80211's dynamic
power save; `NMSettingWireless:powersave` of libnm; ESP-IDF's components/esp_wifi/Kconfig (the least active time is 8 to
60 ms) and `wifi_ps_type_t`; subsys/net/l2/wifi/wifi_shell.c and `wifi_ps_params` of Zephyr, which nRF Connect SDK uses;
and the commented hostapd.conf. Of what ESP-IDF does beside: its guide to low power in Wi-Fi scenarios names the
gratuitous ARP, configurations that it generates have the intervals (60 s, and 40 s of MLDv6; the timer of TCP 250 ms),
and components/esp_driver_usb_serial_jtag/Kconfig the lock of a console over USB. That a station gives up after 6 s is
in esp_wifi.h; that TCP's timer runs only with connections is from memory of lwIP's timeouts.c. Issues of ESP-IDF say of
target wake time that wake times are multiples of the beacon's (13884), that agreements are lost after minutes (18352),
and that timers of lwIP wake up the host (18029, 12441).
docs/advise.md has the settings as a table. A driver or a firmware may ignore one.
"""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from airwatt import _core, laboratory
from airwatt._core import InputError, Quantity
from airwatt.advice.candidate import AWAKE_TO_THE_END, ENDS_EARLY, Candidate

if TYPE_CHECKING:
    from airwatt.advice.network_stack import NetworkStack

_NONE = "has no setting for it"
_ESP_LONGEST_MS = 60
"""The end of the range of CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME."""
_ESP_USUAL_MS = 50
"""Its value if it is not set, so that policy `timeout` of 50 ms stands for WIFI_PS_MIN_MODEM as it comes."""
LINUX = "iw"
PLATFORMS = (LINUX, "NetworkManager", "ESP-IDF", "nRF Connect SDK", "hostapd")
_ACCESS_POINTS = ("hostapd",)
TARGETS: Mapping[str, tuple[str, ...]] = {
    "linux": ("iw", "NetworkManager"),
    "esp-idf": ("ESP-IDF",),
    "nrf": ("nRF Connect SDK",),
    "zephyr": ("nRF Connect SDK",),
    "hostapd": ("hostapd",),
}
"""The platforms of what `--target` names. nRF Connect SDK has Zephyr's shell."""


class Setting(NamedTuple):
    """How a platform is set: lines as they are typed or written into a file, and what has to be known with them."""

    lines: tuple[str, ...] = ()
    note: str = ""
    whole: bool = True
    """Whether the lines set all of a candidate, rather than only a part that it needs."""

    def __str__(self) -> str:
        return "; ".join([*(line.removesuffix(";") for line in self.lines), *([self.note] if self.note else [])])


def settings(candidate: Candidate) -> list[dict[str, object]]:
    """For each platform how the candidate is set; `set` is None if the platform has no setting for all of it."""
    return [
        {"platform": name, "set": None if one is None else str(one), "lines": [] if one is None else list(one.lines)}
        for name, one in zip(PLATFORMS, how(candidate), strict=True)
    ]


def lines(candidate: Candidate) -> list[str]:
    """The same as text, a line for each platform."""
    return described(how(candidate))


def described(settings: Sequence[Setting | None], radio: str = "") -> list[str]:
    """The settings of each platform as lines; of a chip with a kit of its own without those for other makers' chips."""
    has_own = _chip(radio).startswith(_OTHER_SDK)
    shown = zip(PLATFORMS, settings, strict=True)
    lines = [f"{name}: {one or _NONE}" for name, one in shown if not (has_own and name in _OF_RADIO.values())]
    return [*lines, *([f"{radio}: the kit of its maker has no settings here"] if has_own else [])]


def to_paste(target: str, settings: Sequence[Setting | None]) -> list[str]:
    """What to write on a target, with notes as comments."""
    found = []
    for name in TARGETS[target]:
        setting = settings[PLATFORMS.index(name)]
        if setting is None:
            continue
        comment = "//" if name == "ESP-IDF" else "#"
        own = [f"{comment} {name}"] if len(TARGETS[target]) > 1 else []
        for line in setting.lines:
            if line.startswith("CONFIG_") and (not own or not own[-1].startswith("CONFIG_")):
                own.append("# sdkconfig.defaults")
            own.append(line)
        found += [*own, *([f"{comment} {setting.note}"] if setting.note else [])]
    return found


_OF_RADIO = {"esp32": "ESP-IDF", "nrf7002": "nRF Connect SDK"}
"""The platform of a chip, by the begin of its radio's name."""


@functools.cache
def _chip(radio: str) -> str:
    """The name that a profile has, also one of a file: `esp32-c3-measured` of `./board.toml`."""
    try:
        return str(laboratory.radio(radio).name)
    except InputError:
        # Several radios, or one of a file that a capture's analysis names by its content.
        return radio


def of_radio(radio: str) -> str | None:
    """The platform on which a radio's chip is programmed, if there is one alone."""
    return next((platform for begin, platform in _OF_RADIO.items() if _chip(radio).startswith(begin)), None)


def words_of(target: str | None, radio: str) -> str | None:
    """What `--target` would name for a radio whose chip has one platform, if it names nothing."""
    own = of_radio(radio)
    return target or next((name for name, platforms in TARGETS.items() if platforms == (own,)), None)


_OTHER_SDK = ("siwx917", "cyw43439", "cc3130")
"""Chips with a kit of their makers', for which no settings are known here."""
_OF_ONE_MAKER = ("esp-idf", "nrf")


_WITH_WAKE_TIMES = {"esp32-c5": "ESP-IDF", "esp32-c6": "ESP-IDF", "nrf7002": "nRF Connect SDK"}
"""The platform of chips whose kit has a call for target wake time, by the begin of the radio's name."""
_AGREEING = "802.11ax"


def with_wake_times(target: str | None, radio: str) -> str | None:
    """The platform on which target wake time can be set: that of the radio's chip, if it is among the target's."""
    own = next((platform for begin, platform in _WITH_WAKE_TIMES.items() if _chip(radio).startswith(begin)), None)
    if target is None:
        return own
    return own if own in TARGETS[target] else None


def agrees(standard: str) -> bool:
    """Whether access points of a standard can have agreements on wake times."""
    return standard.startswith(_AGREEING)


def as_set(platform: str | None, candidate: Candidate) -> list[Candidate]:
    """The candidate as a platform keeps it.

    Firmware of the nRF70 stays awake for the whole service period. Of ESP-IDF it is not published whether the station
    sleeps as soon as the access point ends it, so that there are both.
    """
    if platform is None or not _has_one_agreement(candidate):
        return [candidate]
    kinds = [AWAKE_TO_THE_END] if platform == "nRF Connect SDK" else [AWAKE_TO_THE_END, ENDS_EARLY]
    return [replace(candidate, parameters=(*candidate.parameters, kind)) for kind in kinds]


def check_fits(target: str | None, radio: str) -> None:
    """Raises `InputError` for a target that is another maker's than the radio's chip."""
    if target not in _OF_ONE_MAKER:
        return
    platform = of_radio(radio)
    if _chip(radio).startswith(_OTHER_SDK) or (platform is not None and platform not in TARGETS[target]):
        kit = "a kit that has no settings here" if platform is None else platform
        raise InputError(f"--target {target}: expected a radio of {TARGETS[target][0]}, got {radio}, which is of {kit}")


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
        # A comment that is wrapped goes on as a comment.
        found += [line] if line.startswith("CONFIG_") else textwrap.wrap(f"// {line}", 76, subsequent_indent="//   ")
    return found


def skipped(listen_interval: object) -> int | None:
    """The beacons of a listen interval that has to be set, since no platform comes with it: a number above 1."""
    beacons = int(str(listen_interval)) if str(listen_interval).isdecimal() else 1
    return beacons if beacons > 1 else None


def can_set(platform: str, candidate: Candidate) -> bool:
    """Whether a platform has a setting for all of a candidate."""
    setting = how(candidate)[PLATFORMS.index(platform)]
    return setting is not None and setting.whole


def is_for(target: str, candidate: Candidate) -> bool:
    """Whether what `--target` names has a setting for all of a candidate.

    An early end of service periods has none anywhere; it is told beside what can be set.
    """
    return any(can_set(platform, candidate.awake_to_the_end()) for platform in TARGETS[target])


_USUAL = {LINUX: "100ms", "ESP-IDF": f"{_ESP_USUAL_MS}ms", "nRF Connect SDK": "100ms"}
"""The time-out of each platform as it comes: of mac80211's dynamic power save (docs/station.md), of ESP-IDF's least
active time, and of the nRF70's inactivity timer in its maker's documentation."""


def usual_of(target: str | None, radio: str) -> str | None:
    """The platform whose time-out as it comes is one of a target's or, without one, of the radio's chip or of Linux."""
    if target is None:
        return of_radio(radio) or LINUX
    return next((platform for platform in TARGETS[target] if platform in _USUAL), None)


def is_usual(platform: str | None, candidate: Candidate) -> bool:
    """Whether its time-out is the one that a platform has with power save on and nothing else set."""
    usual = (("timeout", _USUAL.get(platform or "")),)
    return candidate.parameters == usual and _policies()[candidate.policy]["dozing"] == "after timeout"


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
    if wait_ms == _ESP_USUAL_MS:
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


_ESP_INACTIVE_S = 6
"""After so long without a beacon a station of ESP-IDF gives up its association (esp_wifi.h)."""
_BEACON_S = 0.1024
_BORNE = 10
"""Beacons in a row whose loss is to be borne."""


def is_esp_idf(radio: str, target: str | None) -> bool:
    """Whether the settings are those of ESP-IDF: of the target, or without one of the radio's chip."""
    return of_radio(radio) == "ESP-IDF" if target is None else target == "esp-idf"


def hints(
    radio: str,
    target: str | None,
    candidate: Candidate,
    stack: NetworkStack | None = None,
    adds: Callable[[float], str] = "{:.3g} W".format,
) -> Iterator[str]:
    """What else of ESP-IDF wakes up the radio or ends its association, beside what sets a candidate.

    `adds` says what a mean power more is: a current, and days.
    """
    if not is_esp_idf(radio, target):
        return
    arp, report = ("", "") if stack is None else (f" ({adds(more_w)})" for more_w in stack.frames_w.values())
    where = "no figure here unless they were captured" if stack is None else "no other figure here"
    yield (
        f"beside it, lwIP of ESP-IDF sends a gratuitous ARP each 60 s as it comes{arp}, and with IPv6 an MLDv6 report "
        f"each 40 s{report}, which wake the radio and are in {where}: "
        "CONFIG_LWIP_ESP_GRATUITOUS_ARP=n and CONFIG_LWIP_ESP_MLDV6_REPORT=n leave them out, for access points that do "
        "not forget silent devices; CONFIG_LWIP_GARP_TMR_INTERVAL and CONFIG_LWIP_MLDV6_TMR_INTERVAL are the intervals "
        "in seconds"
    )
    price = ""
    if stack is not None and stack.timer_w_each_ms is not None:
        price = (
            f"; each millisecond that it is awake for that, at the power of {stack.awake_mode}, is "
            f"{adds(stack.timer_w_each_ms)}, and how many there are is not published"
        )
    yield (
        "the host wakes up, too, without the radio and in no figure above: lwIP's timer of TCP runs each 250 ms "
        "(CONFIG_LWIP_TCP_TMR_INTERVAL), from memory only while a connection is open, so that a device with MQTT is "
        f"not asleep as long as an idle one{price}; its timers of ARP and DHCP run more rarely (ESP-IDF issue 18029); "
        "and a console over USB Serial/JTAG (ESP32-C3, -C5, -C6, -S3) keeps a "
        "connected chip from light sleep with CONFIG_USJ_NO_AUTO_LS_ON_CONNECTION=y: measure without the cable"
    )
    yield from _keeps_association(candidate)


def _keeps_association(candidate: Candidate) -> Iterator[str]:
    """Says after how many beacons that it misses a station of ESP-IDF gives up, where that is few."""
    if candidate.listen_interval is not None:
        each_s, what = candidate.listen_interval * _BEACON_S, "listen intervals"
    elif _has_one_agreement(candidate):
        each_s = float(Quantity(dict(candidate.parameters)["interval"], "time").value)
        what = "intervals between wake times, at which it may hear one beacon (ESP-IDF issue 13884)"
    else:
        return
    if _BORNE * each_s <= _ESP_INACTIVE_S:
        return
    borne = math.floor(_ESP_INACTIVE_S / each_s)
    which = f"which are {borne} of these {what}" if borne else f"which is less than one of these {what}"
    lost = (
        ""
        if candidate.listen_interval is not None
        else "; boards that give up agreements after minutes are reported (issue 18352): watch for reconnections"
    )
    yield (
        f"without a beacon for {_ESP_INACTIVE_S} s, {which}, it gives up its association: "
        f"esp_wifi_set_inactive_time(WIFI_IF_STA, {math.ceil(_BORNE * each_s)}); after esp_wifi_start() bears the loss "
        f"of {_BORNE}{lost}"
    )


def _dtim(beacons: int) -> Setting:
    return Setting((f"dtim_period={beacons}",), "has the same effect for stations that receive DTIM beacons")


@functools.cache
def _policies() -> dict[str, dict[str, Any]]:
    """What each policy says of itself, by its name."""
    found: dict[str, dict[str, Any]] = json.loads(_core.advise_policies())
    return found


def _has_one_agreement(candidate: Candidate) -> bool:
    """Whether it keeps to one agreement on wake times, which is what kits can set."""
    return "interval" in dict(candidate.parameters) and bool(_policies()[candidate.policy]["needs_agreement"])


_LINUX_TIMEOUT = "of mac80211 and brcmfmac: iw has no command for the time-out"
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
        awake = f"after traffic it stays awake for {_ESP_USUAL_MS} ms all the same, as policy timeout does"
        return (
            None,
            None,
            Setting(_esp_mode(beacons), f"{_BEFORE_CONNECTING}; {awake}", whole=False),
            Setting((f"wifi ps_listen_interval {beacons}", *fetch, *listening), "before connecting"),
            _dtim(beacons),
        )
    if policy["needs_agreement"]:
        if not _has_one_agreement(candidate):
            return (None,) * len(PLATFORMS)
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
