//! Who else sets power save on this host: network managers and tools that save power, by their configuration files.
//!
//! Files are read and nothing is asked of the programs themselves, so a program's unusual places for its configuration are
//! not known.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// A program that sets power save, what it sets, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Other {
    pub(super) program: &'static str,
    pub(super) says: String,
    pub(super) advice: Option<&'static str>,
}

const NETWORK_MANAGER: [&str; 4] = [
    "usr/lib/NetworkManager/conf.d",
    "etc/NetworkManager/NetworkManager.conf",
    "etc/NetworkManager/conf.d",
    "run/NetworkManager/conf.d",
];

/// The programs that are known to do so, and where they say it.
pub(super) const KNOWN: [(&str, &str); 3] = [
    ("NetworkManager", "/etc/NetworkManager/NetworkManager.conf and conf.d"),
    ("iwd", "/etc/iwd/main.conf"),
    ("TLP", "/etc/tlp.conf and tlp.d"),
];

/// Finds them below `root`, which is `/` but in tests.
pub(super) fn find(root: &Path) -> Vec<Other> {
    [network_manager(root), iwd(root), tlp(root)].into_iter().flatten().collect()
}

fn network_manager(root: &Path) -> Option<Other> {
    if !root.join("etc/NetworkManager").is_dir() {
        return None;
    }
    let value = last_value(root, &NETWORK_MANAGER, "wifi.powersave");
    let (says, advice) = match value.as_deref() {
        Some("2") => (
            "off at each connection (wifi.powersave=2)",
            Some("remove that line, or set it to 1 (leave it alone) or 3 (on)"),
        ),
        Some("3") => ("on at each connection (wifi.powersave=3)", None),
        Some("1") => ("left alone (wifi.powersave=1)", None),
        _ => ("the driver's default at each connection", None),
    };
    Some(Other { program: "NetworkManager", says: says.to_owned(), advice })
}

fn iwd(root: &Path) -> Option<Other> {
    let places = ["etc/iwd/main.conf"];
    let value = last_value(root, &places, "PowerSaveDisable")?;
    Some(Other {
        program: "iwd",
        says: format!("off for drivers that match {value} (DriverQuirks.PowerSaveDisable)"),
        advice: Some("remove the driver from that list in /etc/iwd/main.conf"),
    })
}

fn tlp(root: &Path) -> Option<Other> {
    let places = ["etc/tlp.conf", "etc/tlp.d"];
    if !root.join("etc/tlp.conf").exists() {
        return None;
    }
    let on = |key| last_value(root, &places, key).map(|value| value.trim_matches('"').to_owned());
    let mains = on("WIFI_PWR_ON_AC").unwrap_or_else(|| "off".to_owned());
    let battery = on("WIFI_PWR_ON_BAT").unwrap_or_else(|| "on".to_owned());
    Some(Other {
        program: "TLP",
        says: format!("{mains} on mains (WIFI_PWR_ON_AC), {battery} on battery (WIFI_PWR_ON_BAT)"),
        advice: None,
    })
}

/// The last value of `key` in the files and the files of the folders `places`, in the order in which they are read.
fn last_value(root: &Path, places: &[&str], key: &str) -> Option<String> {
    let mut files = Vec::new();
    for place in places {
        let path = root.join(place);
        if path.is_dir() {
            let mut inside: Vec<_> =
                fs::read_dir(&path).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
            inside.retain(|file| file.extension().is_some_and(|extension| extension == "conf"));
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path);
        }
    }
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    texts.flat_map(|text| text.lines().filter_map(|line| setting(line, key)).collect::<Vec<_>>()).last()
}

/// The value in a line `key = value`.
fn setting(line: &str, key: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    (name.trim() == key).then(|| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a root with these files.
    fn found(name: &str, files: &[(&str, &str)]) -> Vec<Other> {
        let root = std::env::temp_dir().join(format!("airwatt-others-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = find(&root);
        fs::remove_dir_all(&root).unwrap();
        found
    }

    #[test]
    fn a_host_without_managers_has_none() {
        assert_eq!(found("none", &[]), []);
    }

    #[test]
    fn the_last_file_of_networkmanager_decides() {
        let off = (
            "usr/lib/NetworkManager/conf.d/default-wifi-powersave-on.conf",
            "[connection]\nwifi.powersave = 3\n",
        );
        let ours =
            ("etc/NetworkManager/conf.d/zz.conf", "[connection]\n# wifi.powersave=3\nwifi.powersave=2\n");
        let [found] = found("nm", &[off, ours]).try_into().unwrap();
        assert_eq!((found.program, found.advice.is_some()), ("NetworkManager", true));
        assert!(found.says.starts_with("off"), "{}", found.says);
    }

    #[test]
    fn iwd_and_tlp_are_read() {
        let files = [
            ("etc/iwd/main.conf", "[DriverQuirks]\nPowerSaveDisable=rtw88*\n"),
            ("etc/tlp.conf", "#WIFI_PWR_ON_AC=on\nWIFI_PWR_ON_BAT=\"off\"\n"),
        ];
        let says: Vec<_> = found("iwd", &files).into_iter().map(|other| other.says).collect();
        assert!(says[0].contains("rtw88*"));
        assert!(says[1].starts_with("off on mains") && says[1].contains("off on battery"), "{}", says[1]);
    }
}
