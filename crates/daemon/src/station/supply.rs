//! The power supply of this host, as the kernel has it in `/sys/class/power_supply` (Documentation/ABI/testing/sysfs-class-power).
//!
//! A host is on battery if one of its batteries discharges and nothing that feeds it is online. The batteries of mice and of other
//! devices (`scope`) are not the host's. Every file is readable by everybody.
//!
//! Left out: what a supply can give, and batteries that discharge beside a charger which is too weak.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The folder of the kernel.
pub(super) const FOLDER: &str = "/sys/class/power_supply";

/// What a host lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Supply {
    Mains,
    Battery,
    /// It has no battery that the kernel knows of, as a board.
    NoBattery,
}

impl Supply {
    /// Reads the supply that this host has now.
    pub(super) fn of_host() -> Self {
        Self::read(Path::new(FOLDER))
    }

    fn read(folder: &Path) -> Self {
        let (mut has_battery, mut is_fed, mut discharges) = (false, false, false);
        for supply in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let read = |name: &str| {
                std::fs::read_to_string(supply.path().join(name))
                    .map(|text| text.trim().to_owned())
                    .unwrap_or_default()
            };
            match (read("type").as_str(), read("scope").as_str()) {
                (_, "Device") => {}
                ("Battery", _) => {
                    has_battery = true;
                    discharges |= read("status") == "Discharging";
                }
                // Two is online too: with a voltage that can be chosen.
                ("Mains" | "USB" | "Wireless", _) => is_fed |= !matches!(read("online").as_str(), "" | "0"),
                _ => {}
            }
        }
        match (has_battery, discharges && !is_fed) {
            (false, _) => Self::NoBattery,
            (true, true) => Self::Battery,
            (true, false) => Self::Mains,
        }
    }

    /// The words for people.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Mains => "mains",
            Self::Battery => "battery",
            Self::NoBattery => "no battery in this host",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as the kernel has it, of supplies with their files.
    fn found(name: &str, supplies: &[&[(&str, &str)]]) -> Supply {
        let folder = std::env::temp_dir().join(format!("airwatt-supply-{}-{name}", std::process::id()));
        for (number, files) in supplies.iter().enumerate() {
            let supply = folder.join(number.to_string());
            std::fs::create_dir_all(&supply).unwrap();
            files
                .iter()
                .for_each(|(file, text)| std::fs::write(supply.join(file), format!("{text}\n")).unwrap());
        }
        let read = Supply::read(&folder);
        let _ = std::fs::remove_dir_all(folder);
        read
    }

    #[test]
    fn a_host_is_on_battery_if_its_own_discharges_and_nothing_feeds_it() {
        let mains = |online| [("type", "Mains"), ("online", online)];
        let battery = |status| [("type", "Battery"), ("status", status)];
        let mouse = [("type", "Battery"), ("scope", "Device"), ("status", "Discharging")];
        assert_eq!(found("board", &[]), Supply::NoBattery);
        assert_eq!(found("mouse", &[&mains("1"), &mouse]), Supply::NoBattery);
        assert_eq!(found("away", &[&mains("0"), &battery("Discharging"), &mouse]), Supply::Battery);
        assert_eq!(found("charging", &[&mains("1"), &battery("Charging")]), Supply::Mains);
        // A charger that is too weak for the load feeds it all the same, and so does one whose type the kernel does not know.
        assert_eq!(
            found("weak", &[&[("type", "USB"), ("online", "2")], &battery("Discharging")]),
            Supply::Mains
        );
        assert_eq!(found("unknown", &[&battery("Not charging")]), Supply::Mains);
        assert_eq!(found("two", &[&battery("Not charging"), &battery("Discharging")]), Supply::Battery);
    }
}
