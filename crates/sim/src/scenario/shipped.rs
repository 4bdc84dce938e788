//! The scenarios, Wi-Fi sets and TCP profiles that ship, embedded so that the program needs no files.

/// A scenario that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! embedded {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../../", $folder, "/", $name, ".toml")) }),+]
    };
}

const SCENARIOS: &[Shipped] = embedded!("scenarios": "bulk", "call-today", "e2tcp", "evening", "fast-dsl", "four-in-a-row", "hidden-stations", "idle", "idle-6ghz", "office", "office-today", "reference-download", "saturation", "scans", "sensor", "singh-2002", "slow-dsl", "slow-station", "ssh", "streaming", "ten-stations", "ten-up", "tunnel", "two-access-points", "two-cells", "two-hops", "web", "wifi-bottleneck", "wifi4", "wifi5", "wifi6");
const WIFI: &[Shipped] = embedded!("scenarios/wifi": "fast-wifi", "slow-wifi", "wifi4", "wifi5", "wifi6");
const TCP: &[Shipped] = embedded!("scenarios/tcp": "freebsd-4.3", "linux", "linux-2.6.28", "linux-settings", "ns2-2001", "opnet", "rfc");

/// Every scenario that ships, by name.
pub const fn shipped() -> &'static [Shipped] {
    SCENARIOS
}

/// The Wi-Fi sets that ship, by name.
pub(super) const fn wifi_sets() -> &'static [Shipped] {
    WIFI
}

/// The TCP profiles that ship, by name.
pub(super) const fn tcp_profiles() -> &'static [Shipped] {
    TCP
}

/// The TOML text of a scenario that ships.
pub fn shipped_text(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|shipped| shipped.name == name).map(|shipped| shipped.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that nobody embedded would ship without a name.
    #[test]
    fn every_file_is_embedded() {
        for (folder, embedded) in [("scenarios", SCENARIOS), ("scenarios/wifi", WIFI), ("scenarios/tcp", TCP)]
        {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
            let mut names: Vec<String> = std::fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
                .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, embedded.iter().map(|shipped| shipped.name).collect::<Vec<_>>());
        }
    }
}
