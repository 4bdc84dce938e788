"""Kits: the platforms on which chips are programmed, and what their power save does as it comes."""

ESP_USUAL_MS = 50
"""CONFIG_ESP_WIFI_SLP_DEFAULT_MIN_ACTIVE_TIME if it is not set, so that policy `timeout` of 50 ms stands for
WIFI_PS_MIN_MODEM as it comes."""
LINUX = "iw"
USUAL: dict[str, str | None] = {
    LINUX: "100ms",
    "ESP-IDF": f"{ESP_USUAL_MS}ms",
    "nRF Connect SDK": "100ms",
    "WiSeConnect": None,
    "pico-sdk": "200ms",
    "WHD": "200ms",
}
"""The time-out of each platform as it comes, None where power save is off: of mac80211's dynamic power save
(docs/station.md), of ESP-IDF's least active time, of the nRF70's inactivity timer in its maker's documentation, of
CYW43_DEFAULT_PM and of DEFAULT_PM2_SLEEP_RET_TIME. WiSeConnect begins with its first profile, HIGH_PERFORMANCE."""
_OF_CHIP = {
    "esp32": ("ESP-IDF",),
    "nrf7002": ("nRF Connect SDK",),
    "siwx917": ("WiSeConnect",),
    "cyw43439": ("pico-sdk", "WHD"),
}
"""The platforms of a chip, the usual one first, by the begin of its radio's name."""
KITS = {kit for kits in _OF_CHIP.values() for kit in kits}


def kits_of(chip: str) -> tuple[str, ...]:
    """The platforms on which a chip is programmed; none for one that has no kit of its own."""
    return next((kits for begin, kits in _OF_CHIP.items() if chip.startswith(begin)), ())


def of_chip(chip: str) -> str | None:
    """The platform on which a chip is programmed as a rule, if it is a kit of its own."""
    return next(iter(kits_of(chip)), None)


def is_off_as_it_comes(chip: str) -> bool:
    """Whether power save is off on the kit of a chip as long as nothing is set."""
    kit = of_chip(chip)
    return kit in USUAL and USUAL[kit] is None
