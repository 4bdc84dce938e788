//! What NetworkManager sets power save to at each connection, by its configuration (NetworkManager.conf(5)) and its profiles.
//!
//! The files are read as it reads them: those of `/usr/lib`, of `/run`, `NetworkManager.conf`, those of `/etc`; one of a later folder takes
//! the place of those of its name. Sections of one name are one, whose later keys count. The section `[connection]` has the lowest
//! priority, wherever it stands; of the others those of later files come first, and within a file the upper ones. Without any the default
//! is to leave power save alone. A profile that says something itself does not ask for a default.
//!
//! Left out: `match-device` by anything but type and name of an interface, whose sections count as matching; `stop-match`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::other_files::{ends_in, strongest};

/// The folders of its configuration with their places in the order of reading, and the file between them.
const LIBRARY: &str = "usr/lib/NetworkManager/conf.d";
const RUN: &str = "run/NetworkManager/conf.d";
const MAIN: &str = "etc/NetworkManager/NetworkManager.conf";
const ETC: &str = "etc/NetworkManager/conf.d";
/// Folders of profiles, the strongest first.
const PROFILES: [&str; 3] = [
    "etc/NetworkManager/system-connections",
    "run/NetworkManager/system-connections",
    "usr/lib/NetworkManager/system-connections",
];
/// The section with the lowest priority.
const GENERAL: &str = "connection";

/// A statement about power save, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) says: String,
    pub(super) advice: Option<String>,
}

/// What it does by its files below `root`; nothing if it is not there. The first is the default, and profiles follow that say otherwise.
pub(super) fn find(root: &Path) -> Vec<Statement> {
    if !root.join("etc/NetworkManager").is_dir() {
        return Vec::new();
    }
    let mut found = vec![default(root)];
    found.extend(profiles(root));
    found
}

fn default(root: &Path) -> Statement {
    let Some((value, file)) = default_value(root) else {
        return Statement { says: "left alone, its default where no file sets it".to_owned(), advice: None };
    };
    let at = format!("(wifi.powersave={value} in {file})");
    let (says, advice) = match value.as_str() {
        "2" => {
            ("off at each connection", Some("remove that line, or set it to 1 (leave it alone) or 3 (on)"))
        }
        "3" => ("on at each connection", None),
        _ => ("left alone", None),
    };
    Statement { says: format!("{says} {at}"), advice: advice.map(str::to_owned) }
}

/// The default of Wi-Fi connections, and the file that has it.
fn default_value(root: &Path) -> Option<(String, String)> {
    let mut merged: Vec<Section> = Vec::new();
    for file in files(root) {
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        let mut sections = sections(&text);
        sections.retain(|(name, _)| name.starts_with(GENERAL));
        // Later ones are stronger, and within a file the upper ones.
        for (name, keys) in sections.into_iter().rev() {
            let place = merged.iter().position(|section| section.name == name).unwrap_or_else(|| {
                merged.push(Section { name, ..Section::default() });
                merged.len() - 1
            });
            let section = &mut merged[place];
            if let Some(value) = keys.get("wifi.powersave") {
                section.value = Some((value.clone(), format!("/{}", file.display())));
            }
            section.devices = keys.get("match-device").cloned().or_else(|| section.devices.take());
        }
    }
    merged.sort_by_key(|section| section.name != GENERAL);
    merged.into_iter().rev().filter(Section::may_match).find_map(|section| section.value)
}

/// A section of the merged configuration.
#[derive(Debug, Default)]
struct Section {
    name: String,
    /// `match-device`.
    devices: Option<String>,
    /// `wifi.powersave`, and the file that has it.
    value: Option<(String, String)>,
}

impl Section {
    /// Whether it may be about a Wi-Fi interface.
    fn may_match(&self) -> bool {
        let Some(devices) = &self.devices else { return true };
        devices.split([',', ';']).map(str::trim).any(|device| match device.strip_prefix("type:") {
            Some(kind) => kind == "wifi",
            None => !device.is_empty() && !device.starts_with("except:"),
        })
    }
}

/// The files of the configuration in the order of reading.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut all = strongest(root, &[ETC, RUN, LIBRARY]);
    all.retain(|file| ends_in(file, "conf"));
    let of = |folder: &'static str| all.iter().filter(move |file| file.starts_with(folder)).cloned();
    of(LIBRARY).chain(of(RUN)).chain([MAIN.into()]).chain(of(ETC)).collect()
}

/// The sections of a key file (GKeyFile) in their order.
fn sections(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut sections: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push((name.to_owned(), BTreeMap::new()));
        } else if let (Some((_, keys)), Some((key, value))) = (sections.last_mut(), line.split_once('=')) {
            keys.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    sections
}

/// Profiles that set power save themselves.
fn profiles(root: &Path) -> Vec<Statement> {
    strongest(root, &PROFILES).iter().filter_map(|file| profile(root, file)).collect()
}

/// What a profile says; `None` if it leaves that to the default.
fn profile(root: &Path, file: &Path) -> Option<Statement> {
    let shown = format!("/{}", file.display());
    let text = match fs::read_to_string(root.join(file)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let says = format!("not known: this user may not read the profile {shown}");
            return Some(Statement { says, advice: Some("run it as root".to_owned()) });
        }
        Err(_) => return None,
    };
    let sections = sections(&text);
    let value = |names: &[&str], key: &str| {
        let mut of = sections.iter().filter(|(name, _)| names.contains(&name.as_str()));
        of.find_map(|(_, keys)| keys.get(key).cloned())
    };
    let number = value(&["wifi", "802-11-wireless"], "powersave")?;
    let says = match number.as_str() {
        "2" => "off",
        "3" => "on",
        "1" => "left alone",
        _ => return None,
    };
    let id = value(&[GENERAL], "id").unwrap_or_else(|| shown.clone());
    let advice =
        (number != "1").then(|| format!("nmcli connection modify '{id}' 802-11-wireless.powersave 1"));
    Some(Statement { says: format!("{says} in the profile {id} (powersave={number} in {shown})"), advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a root with these files.
    fn said(test: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = std::env::temp_dir().join(format!("airwatt-nm-{test}-{}", std::process::id()));
        fs::create_dir_all(root.join("etc/NetworkManager")).unwrap();
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let said = find(&root).into_iter().map(|found| found.says).collect();
        fs::remove_dir_all(&root).unwrap();
        said
    }

    /// What this project ships.
    const OURS: &str = include_str!("../../../../packaging/NetworkManager/90-airwatt-station.conf");
    const OFF: &str = "[connection]\nwifi.powersave=2\n";

    #[test]
    fn without_a_file_power_save_is_left_alone() {
        let [said] = said("none", &[]).try_into().unwrap();
        assert!(said.starts_with("left alone"), "{said}");
    }

    #[test]
    fn a_named_section_comes_before_the_general_one_of_any_file() {
        for folder in [LIBRARY, RUN, ETC] {
            let ours = format!("{folder}/90-airwatt-station.conf");
            let [said] = said("general", &[(&ours, OURS), ("etc/NetworkManager/conf.d/zz.conf", OFF)])
                .try_into()
                .unwrap();
            assert_eq!(said, format!("left alone (wifi.powersave=1 in /{ours})"));
        }
    }

    #[test]
    fn of_named_sections_those_of_later_files_and_upper_ones_come_first() {
        let named = |name: &str, value: u8| {
            format!("[connection-{name}]\nmatch-device=type:wifi\nwifi.powersave={value}\n")
        };
        let ours = (format!("{ETC}/90-airwatt-station.conf"), OURS.to_owned());
        let first = |files: &[(String, String)]| {
            let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
            said("named", &files).swap_remove(0)
        };
        let off = |file: &str| (file.to_owned(), named("a", 2));
        assert!(first(&[ours.clone(), off("etc/NetworkManager/conf.d/10.conf")]).starts_with("left alone"));
        assert!(first(&[ours.clone(), off("etc/NetworkManager/conf.d/95.conf")]).starts_with("off"));
        assert!(
            first(&[ours.clone(), off("run/NetworkManager/conf.d/95.conf")]).starts_with("left alone"),
            "/run is read first"
        );
        assert!(first(&[ours, off(MAIN)]).starts_with("left alone"));
        let both = (format!("{ETC}/10.conf"), named("upper", 3) + &named("lower", 2));
        assert!(first(&[both]).starts_with("on"));
        let cable = (format!("{ETC}/95.conf"), named("cable", 2).replace("type:wifi", "type:ethernet"));
        assert!(first(&[cable]).starts_with("left alone"), "it is about other interfaces");
    }

    #[test]
    fn a_file_takes_the_place_of_those_of_its_name() {
        let shadowed =
            [("usr/lib/NetworkManager/conf.d/10.conf", OFF), ("etc/NetworkManager/conf.d/10.conf", "")];
        assert!(said("shadowed", &shadowed)[0].starts_with("left alone"));
    }

    #[test]
    fn a_profile_has_its_own_say() {
        let home = "[connection]\nid=home\ntype=wifi\n\n[wifi]\npowersave=2\nssid=home\n";
        let office = "[connection]\nid=office\n\n[wifi]\nssid=office\n";
        let files = [
            ("etc/NetworkManager/system-connections/home.nmconnection", home),
            ("run/NetworkManager/system-connections/home.nmconnection", &home.replace("=2", "=3")),
            ("etc/NetworkManager/system-connections/office.nmconnection", office),
        ];
        let [_, profile] = said("profile", &files).try_into().unwrap();
        assert!(profile.starts_with("off in the profile home (powersave=2 in /etc/"), "{profile}");
    }
}
