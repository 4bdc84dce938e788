//! The commands of scripts: the few words of shell that set up the host, as settings.

use std::collections::BTreeMap;

use crate::Problem;

/// A setting that a command changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSetting {
    /// A value of sysctl by its name with dots, such as `net.ipv4.tcp_ecn`.
    Sysctl(String, String),
    /// The queueing discipline paces.
    Fq,
    /// The queueing discipline of the device holds so many packets; `None` for as many as the device wants.
    Fifo(Option<u32>),
    /// Segmentation offload: whether packets longer than a segment may leave.
    Offload(bool),
    /// Which tests HyStart makes: 1 train, 2 delay.
    HystartDetect(u32),
}

/// The values that packetdrill's own scripts begin with, where they differ from the kernel's: what its `defaults.sh` sets.
pub fn defaults() -> Vec<KernelSetting> {
    [
        ("tcp_rmem", "4096 540000 15728640"),
        ("tcp_wmem", "4096 262144 4194304"),
        ("tcp_timestamps", "1"),
        ("tcp_sack", "1"),
        ("tcp_dsack", "1"),
        ("tcp_window_scaling", "1"),
        ("tcp_frto", "2"),
        ("tcp_reordering", "3"),
        ("tcp_max_reordering", "300"),
        ("tcp_congestion_control", "cubic"),
        ("tcp_slow_start_after_idle", "0"),
        ("tcp_early_retrans", "4"),
        ("tcp_recovery", "1"),
        ("tcp_tso_win_divisor", "3"),
        ("tcp_ecn", "0"),
        ("tcp_pacing_ss_ratio", "200"),
        ("tcp_pacing_ca_ratio", "120"),
        ("tcp_syn_retries", "5"),
        ("tcp_synack_retries", "5"),
        ("tcp_notsent_lowat", "4294967295"),
        ("tcp_min_tso_segs", "2"),
        ("tcp_mtu_probing", "0"),
    ]
    .into_iter()
    .map(|(name, value)| KernelSetting::Sysctl(format!("net.ipv4.{name}"), value.to_owned()))
    .chain([KernelSetting::Fifo(None), KernelSetting::Offload(true), KernelSetting::HystartDetect(3)])
    .collect()
}

/// The settings that the text of a command makes.
///
/// # Errors
/// If a word of it is not known.
pub fn of_command(text: &str, line: usize) -> Result<Vec<KernelSetting>, Problem> {
    let mut settings = Vec::new();
    let joined = text.replace("\\\n", " ");
    for command in joined.split(['\n', ';']).flat_map(|part| part.split("&&")) {
        let words: Vec<&str> = command.split_whitespace().filter(|word| !word.starts_with('#')).collect();
        let Some(first) = words.first() else { continue };
        let known = match first.rsplit('/').next().unwrap_or(first) {
            "defaults.sh" => {
                settings.extend(defaults());
                true
            }
            "set_sysctls.py" | "sysctl" => sysctls(&words[1..], &mut settings),
            "tc" => queueing(&words, &mut settings),
            "ethtool" => {
                settings.push(KernelSetting::Offload(!words.windows(2).any(|pair| pair == ["tso", "off"])));
                words.contains(&"-K")
            }
            "echo" => {
                words.last().is_some_and(|last| last.ends_with("hystart_detect")) && {
                    settings.extend(words[1].parse().ok().map(KernelSetting::HystartDetect));
                    true
                }
            }
            // What only waits, prints or restores the settings of a host concerns no machine.
            name => name.starts_with("sysctl_restore") || matches!(name, "true" | "sync"),
        };
        if !known {
            return Err(Problem::Unsupported { line, text: format!("the command `{}`", command.trim()) });
        }
    }
    Ok(settings)
}

fn sysctls(words: &[&str], settings: &mut Vec<KernelSetting>) -> bool {
    let mut joined: Vec<String> = Vec::new();
    for word in words.iter().filter(|word| !word.starts_with('-') && !word.starts_with('>')) {
        match joined.last_mut() {
            // A value of several numbers, in quotes.
            Some(last) if !word.contains('=') => *last = format!("{last} {word}"),
            _ => joined.push((*word).to_owned()),
        }
    }
    joined.iter().all(|pair| match pair.split_once('=') {
        Some((name, value)) => {
            let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
            settings.push(KernelSetting::Sysctl(name, value.trim_matches(['"', '\'']).to_owned()));
            true
        }
        None => false,
    })
}

fn queueing(words: &[&str], settings: &mut Vec<KernelSetting>) -> bool {
    let limit = words.iter().position(|word| *word == "limit").and_then(|at| words.get(at + 1)?.parse().ok());
    let setting = match words {
        _ if words.contains(&"fq") => KernelSetting::Fq,
        _ if words.contains(&"pfifo") => KernelSetting::Fifo(limit),
        _ => return false,
    };
    settings.push(setting);
    true
}

/// Values of sysctl as a stack holds them.
#[derive(Clone, Debug, Default)]
pub struct Sysctls(BTreeMap<String, String>);

impl Sysctls {
    /// Sets a value by its name with dots.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// The numbers of a value under `net.ipv4`.
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        let value = self.0.get(&format!("net.ipv4.{name}"));
        value.map(|value| value.split_whitespace().flat_map(str::parse).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_settings() {
        let text = "../common/defaults.sh\nsysctl -q net.ipv4.tcp_ecn=1 net/ipv4/tcp_sack=0\n\
            ./set_sysctls.py /proc/sys/net/ipv4/tcp_wmem=\"4096 8192 9000\"\n\
            tc qdisc replace dev tun0 root fq; ethtool -K tun0 tso off gso off";
        let settings = of_command(text, 1).unwrap();
        let sysctl = |name: &str, value: &str| KernelSetting::Sysctl(name.to_owned(), value.to_owned());
        let expected = [
            sysctl("net.ipv4.tcp_ecn", "1"),
            sysctl("net.ipv4.tcp_sack", "0"),
            sysctl("net.ipv4.tcp_wmem", "4096 8192 9000"),
            KernelSetting::Fq,
            KernelSetting::Offload(false),
        ];
        assert_eq!(settings[defaults().len()..], expected);
    }

    #[test]
    fn an_unknown_command_is_not_supported() {
        let error = of_command("ip route change 192.0.2.1", 7).unwrap_err();
        assert_eq!(error.to_string(), "line 7: not supported: the command `ip route change 192.0.2.1`");
    }
}
