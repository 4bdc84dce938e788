//! What is known of drivers beforehand. Names are those of `/sys/class/net/IF/device/driver`, read in the sources of Linux
//! 6.6 to 6.18 (`struct pci_driver`, `sdio_driver`, `platform_driver`), U-APSD in `IEEE80211_VIF_SUPPORTS_UAPSD` and
//! `hw->uapsd_queues`.
//!
//! Whether power save works is measured and not looked up. This list says what to expect, and which drivers are not tried
//! because others have lost their connection or their host by it.

/// A driver, under all names that it has had.
pub(super) struct Driver {
    names: &'static [&'static str],
    /// Whether it negotiates U-APSD as a station.
    pub(super) uapsd: Uapsd,
    /// What to know about its power save.
    pub(super) note: Option<&'static str>,
    /// A report of power save that hangs the device, if there is one.
    pub(super) trouble: Option<&'static str>,
}

/// U-APSD of a driver as a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uapsd {
    /// It has none.
    None,
    /// It has it, and asks for it only if the user says so.
    OffByDefault,
    /// As before, by a parameter of iwlwifi.
    OffByParameter,
    /// It asks for it wherever an access point offers it.
    On,
}

impl Uapsd {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::None => "U-APSD: not supported",
            Self::OffByDefault => "U-APSD: supported, off until debugfs' uapsd_queues is written",
            Self::OffByParameter => "U-APSD: supported, off by the module parameter uapsd_disable=3",
            Self::On => "U-APSD: supported",
        }
    }
}

const fn driver(names: &'static [&'static str], uapsd: Uapsd) -> Driver {
    Driver { names, uapsd, note: None, trouble: None }
}

const DRIVERS: [Driver; 17] = [
    driver(&["ath10k_pci", "ath10k_snoc", "ath10k_ahb", "ath10k_sdio", "ath10k_usb"], Uapsd::OffByDefault),
    driver(&["ath11k_pci", "ath11k"], Uapsd::OffByDefault),
    // The PCI driver is called after the generation since Linux 6.18.
    Driver {
        note: Some(
            "some firmware ignores the setting: see whether `station status` says that the radio sleeps",
        ),
        ..driver(&["ath12k_pci", "ath12k_wifi7_pci"], Uapsd::OffByDefault)
    },
    driver(&["ath9k", "ath9k_htc"], Uapsd::None),
    Driver {
        note: Some(
            "its firmware has a timeout of its own, 50 ms under U-APSD; module parameter power_save=0 disables all",
        ),
        ..driver(&["iwlwifi"], Uapsd::OffByParameter)
    },
    // A platform device that the SDIO driver creates.
    driver(&["wl12xx_driver", "wl18xx_driver"], Uapsd::On),
    driver(&["wfx-sdio", "wfx-spi"], Uapsd::On),
    driver(&["RSI-SDIO WLAN", "RSI-USB WLAN"], Uapsd::On),
    Driver {
        note: Some(
            "its firmware's timeout is 2 s where nothing is set, and its delays have a tail of 0.8 to 2 s with power save on",
        ),
        ..driver(&["brcmfmac"], Uapsd::None)
    },
    driver(&["mwifiex_sdio", "mwifiex_pcie", "mwifiex_usb"], Uapsd::None),
    driver(&["mt7921e", "mt7921s", "mt7921u", "mt7925e", "mt7925u"], Uapsd::None),
    driver(&["mt7601u", "mt76x0u", "mt76x2u", "mt76x2e", "mt7615e", "mt7915e"], Uapsd::None),
    // rtw_NAME until Linux 6.9, rtw88_NAME since.
    Driver {
        trouble: Some("https://github.com/endlessm/linux/pull/614"),
        ..driver(&["rtw_8821ce", "rtw88_8821ce"], Uapsd::None)
    },
    driver(
        &["rtw_8822be", "rtw88_8822be", "rtw_8822ce", "rtw88_8822ce", "rtw_8723de", "rtw88_8723de"],
        Uapsd::None,
    ),
    Driver {
        trouble: Some("https://github.com/lwfinger/rtw89/issues/394"),
        ..driver(&["rtw89_8852be"], Uapsd::None)
    },
    Driver {
        note: Some("it enters power save by itself below 10 Mbit/s"),
        ..driver(&["rtw89_8851be", "rtw89_8852ae", "rtw89_8852ce", "rtw89_8922ae"], Uapsd::None)
    },
    Driver { note: Some("a simulated radio"), ..driver(&["mac80211_hwsim"], Uapsd::None) },
];

/// What is known of the driver with this name.
pub(super) fn known(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_listed_once() {
        let mut names: Vec<&str> = DRIVERS.iter().flat_map(|driver| driver.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(known("rtw88_8821ce").unwrap().trouble.is_some());
        assert!(known("wl18xx").is_none(), "the platform driver has another name");
    }
}
