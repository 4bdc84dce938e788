//! What is known of drivers beforehand, for the doctor and the table of docs/station.md. Names are those of
//! `/sys/class/net/IF/device/driver`, read in the sources of Linux 6.6 to 6.18 (`struct pci_driver`, `sdio_driver`, `platform_driver`),
//! U-APSD in `IEEE80211_VIF_SUPPORTS_UAPSD` and `hw->uapsd_queues`. What power save does was read in 6.1 where a file is the source, and
//! was not tried on hardware.
//!
//! Whether power save works is measured and not looked up. This list says what to expect, and which drivers are not tried
//! because others have lost their connection or their host by it.

use std::path::Path;

use airwatt_base::Span;

/// A driver, under all names that it has had.
pub(super) struct Driver {
    names: &'static [&'static str],
    /// What it does when power save is on.
    pub(super) power_save: &'static str,
    /// The times at which its radio sleeps then.
    pub(super) sleeps: Sleeps,
    /// Whether it negotiates U-APSD as a station.
    pub(super) uapsd: Uapsd,
    /// Whether the device tells its access point by itself that it leaves power save. mac80211 sends no frame for it: the next one of the host
    /// says so, which buffered packets wait for (`ieee80211_change_ps`, Linux 6.1).
    pub(super) announces: bool,
    /// Faults that others have reported.
    pub(super) faults: Option<&'static str>,
    /// Where both were read: a file below `drivers/net/wireless` of Linux, or a public report.
    pub(super) source: &'static str,
    /// A report of power save that hangs the device, if there is one.
    pub(super) trouble: Option<&'static str>,
}

/// When a radio sleeps while power save is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleeps {
    /// The driver has no power save.
    Never,
    /// After this time without traffic, its tail.
    After(Span),
    /// The sources do not say.
    Unknown,
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

const REPORTS: &str = "reports to linux-wireless until July 2026";

const fn driver(
    names: &'static [&'static str],
    uapsd: Uapsd,
    power_save: &'static str,
    source: &'static str,
) -> Driver {
    Driver {
        names,
        power_save,
        sleeps: Sleeps::Unknown,
        uapsd,
        announces: true,
        faults: None,
        source,
        trouble: None,
    }
}

impl Driver {
    const fn after(self, tail_ms: u64) -> Self {
        Self { sleeps: Sleeps::After(Span::from_millis(tail_ms)), ..self }
    }

    const fn in_kernel(self) -> Self {
        Self { announces: false, ..self }
    }
}

#[rustfmt::skip]
const DRIVERS: [Driver; 18] = [
    driver(
        &["ath10k_pci", "ath10k_snoc", "ath10k_ahb", "ath10k_sdio", "ath10k_usb"], Uapsd::OffByDefault,
        "in firmware, after a beacon interval without traffic; none with some firmware", "ath/ath10k/mac.c",
    ).after(100),
    driver(
        &["ath11k_pci", "ath11k"], Uapsd::OffByDefault,
        "in firmware, after a beacon interval without traffic", "ath/ath11k/mac.c",
    ).after(100),
    // The PCI driver is called after the generation since Linux 6.18.
    Driver {
        faults: Some("some firmware ignores the setting: see whether `station status` says that the radio sleeps"),
        ..driver(&["ath12k_pci", "ath12k_wifi7_pci"], Uapsd::OffByDefault, "in firmware", REPORTS)
    },
    driver(
        &["ath9k", "ath9k_htc"], Uapsd::None,
        "in the kernel (mac80211), after 100 ms; none unless the module parameter ps_enable is 1", "ath/ath9k/init.c, htc_drv_init.c",
    ).after(100).in_kernel(),
    Driver {
        faults: Some("a BE211 loses its connection"),
        ..driver(
            &["iwlwifi"], Uapsd::OffByParameter,
            "in firmware, after 100 ms, 50 ms under U-APSD; none if iwlmvm's module parameter power_scheme is 1",
            "intel/iwlwifi/mvm/power.c, constants.h; the fault: a list of cards, unchecked",
        ).after(100)
    },
    // A platform device that the SDIO driver creates.
    driver(&["wl12xx_driver", "wl18xx_driver"], Uapsd::On, "in firmware, after 1.5 s", "ti/wl12xx/main.c, ti/wl18xx/main.c").after(1_500),
    driver(&["wfx-sdio", "wfx-spi"], Uapsd::On, "in firmware", "silabs/wfx/sta.c"),
    driver(&["RSI-SDIO WLAN", "RSI-USB WLAN"], Uapsd::On, "in firmware", "rsi/rsi_91x_mac80211.c"),
    Driver {
        faults: Some("on a Raspberry Pi delays have a tail of 0.8 to 2 s with power save on"),
        ..driver(
            &["brcmfmac"], Uapsd::None, "in firmware, after 2 s where nothing else is set",
            "broadcom/brcm80211/brcmfmac/cfg80211.c; the fault: users' reports, unchecked",
        ).after(2_000)
    },
    driver(
        &["mwifiex_sdio", "mwifiex_pcie", "mwifiex_usb"], Uapsd::None,
        "in firmware; it takes no timeout", "marvell/mwifiex/cfg80211.c",
    ),
    driver(
        &["mt7921e", "mt7921s", "mt7921u", "mt7925e", "mt7925u"], Uapsd::None,
        "in firmware", "mediatek/mt76/mt7921/init.c",
    ),
    driver(
        &["mt7615e", "mt7663s", "mt7663u"], Uapsd::None,
        "in firmware, if it offloads (mt7663)", "mediatek/mt76/mt7615/init.c",
    ),
    Driver {
        sleeps: Sleeps::Never,
        ..driver(
            &["mt7601u", "mt76x0u", "mt76x2u", "mt76x2e", "mt7915e"], Uapsd::None,
            "none", "no IEEE80211_HW_SUPPORTS_PS in mediatek/mt7601u, mediatek/mt76",
        )
    },
    // rtw_NAME until Linux 6.9, rtw88_NAME since.
    Driver {
        faults: Some("the host freezes"),
        trouble: Some("https://github.com/endlessm/linux/pull/614"),
        ..driver(
            &["rtw_8821ce", "rtw88_8821ce"], Uapsd::None,
            "in firmware, entered each 2 s after at most 50 frames in either direction", "realtek/rtw88/main.c",
        )
    },
    driver(
        &["rtw_8822be", "rtw88_8822be", "rtw_8822ce", "rtw88_8822ce", "rtw_8723de", "rtw88_8723de"], Uapsd::None,
        "in firmware, entered each 2 s after at most 50 frames in either direction", "realtek/rtw88/main.c",
    ),
    Driver {
        faults: Some("the device may hang"),
        trouble: Some("https://github.com/lwfinger/rtw89/issues/394"),
        ..driver(
            &["rtw89_8852be"], Uapsd::None,
            "in firmware, which the driver enters by itself while there is little traffic", "realtek/rtw89/core.c",
        )
    },
    driver(
        &["rtw89_8851be", "rtw89_8852ae", "rtw89_8852ce", "rtw89_8922ae"], Uapsd::None,
        "in firmware, which the driver enters by itself while there is little traffic (10 Mbit/s per 100 ms in 6.18)",
        "realtek/rtw89/core.c",
    ),
    driver(
        &["mac80211_hwsim"], Uapsd::None,
        "a simulated radio: in the kernel (mac80211), after 100 ms", "net/mac80211/mlme.c",
    ).after(100).in_kernel(),
];

/// What is known of the driver with this name.
pub(super) fn known(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.names.contains(&name))
}

/// The radios whose profile ships, by the vendor and the device on their bus as Linux has them (`b43_pci_bridge.c`, `ath5k/pci.c`,
/// `linux/mmc/sdio_ids.h`). Other radios of these drivers take other currents.
const PROFILES: [(&str, &str); 3] =
    [("14e4:4311", "broadcom-4311"), ("168c:0013", "ar5004"), ("04b4:bd3d", "cyw43439")];

/// Folders from a device to the card that it is a part of.
const NESTED: usize = 4;

/// The profile that ships of an interface's radio.
pub(super) fn profile(interface: &str) -> Option<&'static str> {
    profile_of(&bus_id(&Path::new("/sys/class/net").join(interface).join("device"))?)
}

fn profile_of(id: &str) -> Option<&'static str> {
    PROFILES.iter().find(|(known, _)| *known == id).map(|(_, profile)| *profile)
}

/// Vendor and device of a device in sysfs, as `8086:2723`, or of the nearest one that it is a part of, as on a bus inside a card.
fn bus_id(device: &Path) -> Option<String> {
    let device = device.canonicalize().ok()?;
    let read = |folder: &Path, file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some(text.trim().trim_start_matches("0x").to_owned())
    };
    let id = |folder: &Path| {
        let of = |files: [&str; 2]| Some(format!("{}:{}", read(folder, files[0])?, read(folder, files[1])?));
        of(["vendor", "device"]).or_else(|| of(["idVendor", "idProduct"]))
    };
    device.ancestors().take(NESTED).find_map(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver of a core on a bus inside a PCI card, an SDIO function, and a USB interface, as sysfs has them.
    #[test]
    fn a_radio_is_known_by_its_place_on_a_bus() {
        let root = std::env::temp_dir().join(format!("airwatt-radios-{}", std::process::id()));
        let id = |folder: &str, files: &[(&str, &str)], device: &str| {
            let folder = root.join(folder);
            std::fs::create_dir_all(folder.join(device)).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
            bus_id(&folder.join(device)).unwrap()
        };
        let core = id("0000:01:00.0", &[("vendor", "0x14e4\n"), ("device", "0x4311\n")], "ssb0:0");
        let function = id("mmc0:0001:1", &[("vendor", "0x04b4\n"), ("device", "0xbd3d\n")], "");
        let stick = id("1-1", &[("idVendor", "0bda\n"), ("idProduct", "8179\n")], "1-1:1.0");
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!((profile_of(&core), profile_of(&function)), (Some("broadcom-4311"), Some("cyw43439")));
        assert_eq!((&*stick, profile_of(&stick)), ("0bda:8179", None));
        assert_eq!(profile("lo"), None, "it has no device");
        for (_, profile) in PROFILES {
            airwatt_energy::Radio::find(profile).expect("it ships");
        }
    }

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
    /// The table of docs/station.md: one home for what is known.
    fn table() -> String {
        let mut text =
            "| driver | power save | U-APSD | reported faults | source |\n| --- | --- | --- | --- | --- |\n"
                .to_owned();
        for driver in &DRIVERS {
            let faults = match (driver.faults, driver.trouble) {
                (Some(fault), Some(report)) => {
                    format!("{fault} ([report]({report})): refused unless `despite_trouble = true`")
                }
                (fault, _) => fault.unwrap_or("none known").to_owned(),
            };
            let uapsd = driver.uapsd.text().trim_start_matches("U-APSD: ");
            let names = driver.names.join(", ");
            text +=
                &format!("| {names} | {} | {uapsd} | {faults} | {} |\n", driver.power_save, driver.source);
        }
        text
    }

    #[test]
    fn the_page_has_the_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/station.md");
        let text = std::fs::read_to_string(page).unwrap();
        assert!(text.contains(&table()), "docs/station.md lacks this table:\n{}", table());
    }

    /// The list at the top of the page says of each driver whether to enable the daemon.
    #[test]
    fn the_list_of_the_page_agrees_with_what_is_known() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/station.md");
        let text = std::fs::read_to_string(page).unwrap();
        let rows = text.lines().skip_while(|line| !line.starts_with("| your driver |")).skip(2);
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        // The row of a driver has the longest beginning of its name.
        let row_of = |driver: &Driver| {
            let name = driver.names.iter().map(|name| name.to_lowercase());
            let begins = name.flat_map(|name| {
                let parts = rows
                    .iter()
                    .flat_map(|row| row.split('`').skip(1).step_by(2).map(move |part| (part, *row)));
                let fits =
                    parts.filter(|(part, _)| name.starts_with(part)).map(|(part, row)| (part.len(), row));
                fits.collect::<Vec<_>>()
            });
            begins.max().map(|(_, row)| row)
        };
        for driver in DRIVERS.iter().filter(|driver| driver.names != ["mac80211_hwsim"]) {
            let row = row_of(driver).unwrap_or_else(|| panic!("{:?} is not in the list", driver.names));
            assert_eq!(row.contains("may hang"), driver.trouble.is_some(), "{row}");
            assert_eq!(
                row.contains("nobody knows"),
                driver.sleeps == Sleeps::Unknown && driver.trouble.is_none(),
                "{row}"
            );
            assert!(driver.sleeps != Sleeps::Never || row.contains("no power save"), "{row}");
        }
    }
}
