"""What ESP-IDF does beside the power save that is advised: frames and timers of its own, and options that decide.

Sources, as of this version: components/esp_wifi/Kconfig (ranges and defaults of the options), esp_wifi.h (a station
gives up after 6 s without a beacon, and the least time is 3 s), the guide to low power in Wi-Fi scenarios (gratuitous
ARP, and averages taken with "the Wi-Fi-related configurations set to default"), generated configurations (60 s, and
40 s of MLDv6; the timer of TCP 250 ms), and components/esp_driver_usb_serial_jtag/Kconfig (the lock of a console over
USB). That TCP's timer runs only with connections is from memory of lwIP's timeouts.c. Issues of ESP-IDF say of target
wake time that wake times are multiples of the beacon's (13884), that agreements are lost after minutes (18352), and
that timers of lwIP wake up the host (18029, 12441).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from airwatt._core import Quantity
from airwatt.advice.platforms import has_one_agreement

if TYPE_CHECKING:
    from airwatt.advice.candidate import Candidate
    from airwatt.advice.network_stack import NetworkStack

_INACTIVE_S = 6
"""After so long without a beacon a station gives up its association (esp_wifi.h)."""
_BEACON_S = 0.1024
_BORNE = 10
"""Beacons in a row whose loss is to be borne."""


def hears_each_s(candidate: Candidate) -> float | None:
    """The time from one beacon that a candidate may hear to the next, where that is so long that few may be lost."""
    each_s = 0.0
    if candidate.listen_interval is not None:
        each_s = candidate.listen_interval * _BEACON_S
    elif has_one_agreement(candidate):
        each_s = float(Quantity(dict(candidate.parameters)["interval"], "time").value)
    return each_s if _BORNE * each_s > _INACTIVE_S else None


def keeps_association(candidate: Candidate) -> list[str]:
    """The call that has a station bear the loss of beacons, where it would give up after few."""
    each_s = hears_each_s(candidate)
    if each_s is None:
        return []
    return [f"esp_wifi_set_inactive_time(WIFI_IF_STA, {math.ceil(_BORNE * each_s)});  // after esp_wifi_start()"]


def hints(
    candidate: Candidate, stack: NetworkStack | None = None, adds: Callable[[float], str] = "{:.3g} W".format
) -> Iterator[str]:
    """What else wakes up the radio or the host, decides on them, or ends the association.

    `adds` says what a mean power more is: a current, and days.
    """
    prices_w = {} if stack is None else stack.frames_w
    arp, report = (f" ({adds(more_w)})" for more_w in prices_w.values()) if prices_w else ("", "")
    where = "no other figure here as traffic" if prices_w else "no figure here unless they were captured"
    yield (
        f"lwIP of ESP-IDF sends a gratuitous ARP each 60 s as it comes{arp}, and with IPv6 an MLDv6 report "
        f"each 40 s{report}, which wake the radio and are in {where}: "
        "CONFIG_LWIP_ESP_GRATUITOUS_ARP=n and CONFIG_LWIP_ESP_MLDV6_REPORT=n leave them out, for access points that do "
        "not forget silent devices; CONFIG_LWIP_GARP_TMR_INTERVAL and CONFIG_LWIP_MLDV6_TMR_INTERVAL are the intervals "
        "in seconds. Whether the maker's averages, on which the profile is fitted, have them is not published: as far "
        "as they do, they are counted twice (docs/advise.md)"
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
    yield (
        "options that are not tried here: CONFIG_ESP_WIFI_SLP_DEFAULT_MAX_ACTIVE_TIME (10 to 60 s, 10 as it comes) is "
        "the time without a packet after which the station sends a Null to keep its association, in no figure as "
        "traffic either; CONFIG_ESP_WIFI_SLP_DEFAULT_WAIT_BROADCAST_DATA_TIME (10 to 30 ms, 15) is how long it waits "
        "for frames to everyone that a beacon announces; CONFIG_ESP_WIFI_SLP_BEACON_LOST_OPT=y has it sleep at once "
        "where a beacon is missing, after CONFIG_ESP_WIFI_SLP_BEACON_LOST_TIMEOUT (5 to 100 units of 1.024 ms, 10), "
        "for which it otherwise listens: the profile's beacon.wait"
    )
    yield from _gives_up(candidate)


def _gives_up(candidate: Candidate) -> Iterator[str]:
    """Says after how many beacons that it misses a station gives up, where that is few."""
    each_s = hears_each_s(candidate)
    if each_s is None:
        return
    skips = candidate.listen_interval is not None
    between = "intervals between wake times, at which it may hear one beacon (ESP-IDF issue 13884)"
    what = "listen intervals" if skips else between
    borne = math.floor(_INACTIVE_S / each_s)
    which = f"which are {borne} of these {what}" if borne else f"which is less than one of these {what}"
    lost = "; boards that give up agreements after minutes are reported (issue 18352): watch for reconnections"
    yield (
        f"without a beacon for {_INACTIVE_S} s, {which}, it gives up its association; "
        f"the time that esp_wifi_set_inactive_time() sets bears the loss of {_BORNE}{'' if skips else lost}"
    )
