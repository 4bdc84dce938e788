//! Who else sets power save on this host: network managers, tools that save power, rules of udev, units of systemd, options of modules and
//! scripts that run with the network, by their files.
//!
//! Files are read and nothing is asked of the programs themselves, so a program's unusual places for its configuration are
//! not known.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::network_manager;
use super::other_files::{ends_in, inside, strongest};

/// A program that sets power save, what it sets, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Other {
    pub(super) program: &'static str,
    pub(super) says: String,
    pub(super) advice: Option<String>,
}

/// The programs that are known to do so, and where they say it.
pub(super) const KNOWN: [(&str, &str); 7] = [
    (
        "NetworkManager",
        "NetworkManager.conf, conf.d and system-connections in /etc/NetworkManager, /run and /usr/lib",
    ),
    ("iwd", "/etc/iwd/main.conf"),
    ("TLP", "/etc/tlp.conf and tlp.d"),
    ("udev", "rules.d in /etc/udev, /run/udev and /usr/lib/udev"),
    ("systemd", "services in systemd/system of /etc, /run and /usr/lib"),
    ("the driver's module", "modprobe.d in /etc, /run and /usr/lib"),
    (
        "a script",
        "/etc/rc.local, /etc/network/interfaces and interfaces.d, and dispatcher.d of /etc/NetworkManager",
    ),
];
/// Scripts of the administrator that run with the network.
const SCRIPTS: [&str; 4] =
    ["etc/rc.local", "etc/network/interfaces", "etc/network/interfaces.d", "etc/NetworkManager/dispatcher.d"];
/// The folders of udev's rules, the strongest first: a file takes the place of those of its name (udev(7)).
const RULES: [&str; 3] = ["etc/udev/rules.d", "run/udev/rules.d", "usr/lib/udev/rules.d"];
/// The same of systemd's units, and of options of modules.
const UNITS: [&str; 3] = ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"];
const OPTIONS: [&str; 3] = ["etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d"];

/// Finds them below `root`, which is `/` but in tests.
pub(super) fn find(root: &Path) -> Vec<Other> {
    let managed = network_manager::find(root).into_iter();
    let network_manager =
        managed.map(|found| Other { program: "NetworkManager", says: found.says, advice: found.advice });
    network_manager
        .chain(iwd(root))
        .chain(tlp(root))
        .chain(udev(root))
        .chain(units(root))
        .chain(options(root))
        .chain(scripts(root))
        .collect()
}

fn iwd(root: &Path) -> Option<Other> {
    let places = ["etc/iwd/main.conf"];
    let value = last_value(root, &places, "PowerSaveDisable")?;
    Some(Other {
        program: "iwd",
        says: format!("off for drivers that match {value} (DriverQuirks.PowerSaveDisable)"),
        advice: Some("remove the driver from that list in /etc/iwd/main.conf".to_owned()),
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
    let advice = "WIFI_PWR_ON_AC=on and WIFI_PWR_ON_BAT=on in a file .conf of /etc/tlp.d";
    Some(Other {
        program: "TLP",
        says: format!("{mains} on mains (WIFI_PWR_ON_AC), {battery} on battery (WIFI_PWR_ON_BAT)"),
        advice: [mains, battery].contains(&"off".to_owned()).then(|| advice.to_owned()),
    })
}

/// Rules that call a program with `power_save` and a setting, as `iw dev NAME set power_save off`. What scripts do that rules start is not
/// known.
fn udev(root: &Path) -> Vec<Other> {
    let files = strongest(root, &RULES).into_iter().filter(|file| ends_in(file, "rules"));
    files.flat_map(|file| rules(root, &file)).collect()
}

/// The lines of a file that are no comments; those that are continued are one.
fn lines(root: &Path, file: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(file)).unwrap_or_default().replace("\\\n", "");
    text.lines().filter(|line| !line.trim_start().starts_with('#')).map(str::to_owned).collect()
}

/// The rules of a file that set it.
fn rules(root: &Path, file: &Path) -> Vec<Other> {
    let other = |setting| Other {
        program: "udev",
        says: format!("{setting} when an interface comes (power_save {setting} in /{})", file.display()),
        advice: Some(if file.starts_with(RULES[0]) {
            "remove that rule".to_owned()
        } else {
            format!("mask its file: ln -s /dev/null /{}", masks(file))
        }),
    };
    lines(root, file).iter().filter_map(|rule| rule_setting(rule)).map(other).collect()
}

/// Services that call such a program. Whether they are enabled is not known here.
fn units(root: &Path) -> Vec<Other> {
    let files = strongest(root, &UNITS).into_iter().filter(|file| ends_in(file, "service"));
    let of_file = |file: PathBuf| {
        let starts = lines(root, &file).into_iter().filter(|line| line.trim_start().starts_with("Exec"));
        let setting = starts.filter_map(|line| rule_setting(&line)).next_back()?;
        let unit = file.file_name()?.to_string_lossy().into_owned();
        Some(Other {
            program: "systemd",
            says: format!(
                "{setting} by {unit}, where it is enabled (power_save {setting} in /{})",
                file.display()
            ),
            advice: Some(format!("systemctl disable {unit}")),
        })
    };
    files.filter_map(of_file).collect()
}

/// Options of modules, as `options iwlwifi power_save=0`.
fn options(root: &Path) -> Vec<Other> {
    let files = strongest(root, &OPTIONS).into_iter().filter(|file| ends_in(file, "conf"));
    let of_line = |file: &Path, line: &str| {
        let mut words = line.split_whitespace();
        let module = words.next().filter(|word| *word == "options").and_then(|_| words.next())?.to_owned();
        let (option, setting) = words.find_map(|word| Some((word, option_setting(word)?)))?;
        Some(Other {
            program: "the driver's module",
            says: format!("{setting} in {module} ({option} in /{})", file.display()),
            advice: Some(format!("remove that option from /{}", file.display())),
        })
    };
    files
        .flat_map(|file| {
            lines(root, &file).iter().filter_map(|line| of_line(&file, line)).collect::<Vec<_>>()
        })
        .collect()
}

/// What an option of a module sets power save to: `power_save` of iwlwifi and others, `power_scheme` of iwlmvm (1: always active), and
/// `disable_ps_mode` of rtw89_core.
fn option_setting(option: &str) -> Option<&'static str> {
    let (name, value) = option.split_once('=')?;
    let is_no = ["0", "N", "n"].contains(&value);
    let is_off = match name {
        "power_save" => is_no,
        "power_scheme" => value == "1",
        "disable_ps_mode" => !is_no,
        _ => return None,
    };
    Some(if is_off { "off" } else { "on" })
}

/// Scripts that run with the network: commands as in rules, and `wireless-power` of ifupdown.
fn scripts(root: &Path) -> Vec<Other> {
    let files = SCRIPTS.iter().flat_map(|place| {
        if root.join(place).is_dir() { inside(root, place) } else { vec![PathBuf::from(place)] }
    });
    let of_file = |file: PathBuf| {
        let of_line = |line: &String| {
            let by_interfaces = || line.trim_start().strip_prefix("wireless-power").map(str::trim);
            rule_setting(line)
                .or_else(|| ["on", "off"].into_iter().find(|setting| by_interfaces() == Some(setting)))
        };
        let setting = lines(root, &file).iter().filter_map(of_line).next_back()?;
        Some(Other {
            program: "a script",
            says: format!("{setting} by /{}", file.display()),
            advice: Some(format!("remove that line from /{}", file.display())),
        })
    };
    files.filter_map(of_file).collect()
}

/// The link that masks a file of rules.
fn masks(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("{}/{name}", RULES[0])
}

/// What a rule sets power save to.
fn rule_setting(rule: &str) -> Option<&'static str> {
    let (_, rest) = rule.split_once("power_save")?;
    let word = rest.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next()?;
    ["on", "off"].into_iter().find(|setting| *setting == word)
}

/// The last value of `key` in the files and the files of the folders `places`, in the order in which they are read.
fn last_value(root: &Path, places: &[&str], key: &str) -> Option<String> {
    let mut files = Vec::new();
    for place in places {
        if root.join(place).is_dir() {
            files.extend(inside(root, place).into_iter().filter(|file| ends_in(file, "conf")));
        } else {
            files.push(place.into());
        }
    }
    let texts = files.iter().filter_map(|file| fs::read_to_string(root.join(file)).ok());
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
    fn rules_of_udev_that_switch_power_save_are_found() {
        let rule = "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"wl*\", \\\n RUN+=\"/usr/sbin/iw dev $name set power_save off\"\n";
        let files = [
            ("usr/lib/udev/rules.d/70-ps.rules", rule),
            ("etc/udev/rules.d/80-ps.rules", rule),
            ("etc/udev/rules.d/90-comment.rules", "# iw dev wlan0 set power_save off\n"),
        ];
        let says: Vec<_> = found("udev", &files).into_iter().map(|other| other.says).collect();
        assert_eq!(says.len(), 2, "{says:?}");
        assert!(
            says[0].starts_with("off when an interface comes")
                && says[0].contains("/etc/udev/rules.d/80-ps.rules")
        );
        let masked = [files[0], ("etc/udev/rules.d/70-ps.rules", "")];
        assert_eq!(found("masked", &masked), []);
    }

    #[test]
    fn units_and_options_of_modules_are_found() {
        let files = [
            (
                "etc/systemd/system/wifi-ps.service",
                "[Service]\n# iw set power_save on\nExecStart=/usr/sbin/iw dev wlan0 set power_save off\n",
            ),
            (
                "usr/lib/systemd/system/airwattd-station.service",
                "[Service]\nDescription=Wi-Fi power_save on\nExecStart=/usr/bin/airwattd station\n",
            ),
            (
                "etc/modprobe.d/iwl.conf",
                "# options iwlwifi power_save=1\noptions iwlwifi 11n_disable=8 power_save=0\noptions snd_hda_intel model=auto\n",
            ),
        ];
        let found = found("units", &files);
        let says: Vec<_> = found.iter().map(|other| (other.program, other.says.as_str())).collect();
        assert_eq!(says.len(), 2, "{says:?}");
        assert!(says[0].0 == "systemd" && says[0].1.starts_with("off by wifi-ps.service"), "{says:?}");
        assert!(
            says[1].1.starts_with("off in iwlwifi (power_save=0 in /etc/modprobe.d/iwl.conf"),
            "{says:?}"
        );
    }

    #[test]
    fn scripts_and_other_options_are_found() {
        let files = [
            (
                "etc/rc.local",
                "#!/bin/sh\n# iw wlan0 set power_save on\niw wlan0 set power_save off\nexit 0\n",
            ),
            ("etc/network/interfaces", "iface wlan0 inet dhcp\n    wireless-power off\n"),
            ("etc/network/interfaces.d/lo", "auto lo\n"),
            ("etc/NetworkManager/dispatcher.d/99-wifi", "iw dev \"$1\" set power_save off\n"),
            (
                "etc/modprobe.d/ps.conf",
                "options iwlmvm power_scheme=1\noptions rtw89_core disable_ps_mode=y\noptions iwlmvm power_scheme=2\n",
            ),
        ];
        let others = found("scripts", &files).into_iter().filter(|other| other.program != "NetworkManager");
        let says: Vec<_> = others.map(|other| other.says).collect();
        assert_eq!(
            says,
            [
                "off in iwlmvm (power_scheme=1 in /etc/modprobe.d/ps.conf)",
                "off in rtw89_core (disable_ps_mode=y in /etc/modprobe.d/ps.conf)",
                "on in iwlmvm (power_scheme=2 in /etc/modprobe.d/ps.conf)",
                "off by /etc/rc.local",
                "off by /etc/network/interfaces",
                "off by /etc/NetworkManager/dispatcher.d/99-wifi",
            ]
        );
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
