//! A daemon as a service of systemd: its messages to the service manager, and the text of its unit.

use std::fmt::Write as _;

use sd_notify::NotifyState;

use airwatt_base::Span;

use crate::capability::ProcessCapability;

/// Whether a service manager has started this program and waits to hear of it.
pub fn is_managed() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// Reports that the daemon is ready. Without a service manager nothing happens, here and below.
pub fn ready(status: &str) {
    let _ = sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports that the daemon reads its configuration again; [`ready`] reports the end of that.
pub fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        let _ = sd_notify::notify(&[NotifyState::Reloading, now]);
    }
}

/// Reports that the daemon is about to end, and takes this long for it, whatever its unit says.
pub fn ending_within(patience: Span) {
    let micros = u32::try_from(patience.as_nanos() / 1_000).unwrap_or(u32::MAX);
    let _ = sd_notify::notify(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
}

/// Reports that the daemon restores the host and ends.
pub fn stopping() {
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
}

/// What the unit of a daemon depends on.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// One line about the daemon.
    pub description: &'a str,
    /// Its page of the manual, of section 8.
    pub manual: &'a str,
    /// The command that runs it in the foreground, word for word; of what is no specifier a [`literal`].
    pub start: &'a [&'a str],
    /// The command that undoes what a daemon has left that was killed with its guardian.
    pub restore: &'a [&'a str],
    /// The capabilities that it needs.
    pub capabilities: &'a [ProcessCapability],
    /// The address families of its sockets, as `AF_INET`, beside AF_UNIX and AF_NETLINK.
    pub families: &'a [&'a str],
    /// The devices that it opens.
    pub devices: &'a [&'a str],
    /// Seconds until it is started again after a failure: what it needs may come late.
    pub restart_s: u32,
    /// Seconds that it may take to end, after which the service manager kills it.
    pub stop_s: u64,
}

impl Unit<'_> {
    /// The text of the unit, with `more` lines in its section `[Service]`: everything that the daemon does not need is forbidden
    /// (systemd.exec(5)).
    pub fn text_with(&self, more: &[&str]) -> String {
        let Self { description, manual, restart_s, stop_s, .. } = self;
        let [start, restore] = [self.start, self.restore].map(command);
        let names: Vec<&str> = self.capabilities.iter().map(|capability| capability.name()).collect();
        let names = names.join(" ");
        let families = self.families.join(" ");
        let mut text = format!(
            "[Unit]\nDescription={description}\nDocumentation=man:{manual}(8)\nAfter=network.target\n\
             # What it needs, as an interface, may come late: it is started again for as long as it takes.\nStartLimitIntervalSec=0\n\n\
             [Service]\nType=notify\nExecStart={start}\nExecReload=/bin/kill -HUP $MAINPID\nExecStopPost={restore}\n\
             Restart=on-failure\nRestartSec={restart_s}\n\
             # What is wrong in the configuration stays wrong, and where one daemon runs a second one is too many.\n\
             RestartPreventExitStatus=2 5\n\
             # The guardian must see the daemon end.\nKillMode=mixed\nTimeoutStopSec={stop_s}\n\
             RuntimeDirectory=airwatt\nRuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes\n\n\
             CapabilityBoundingSet={names}\n\
             RestrictAddressFamilies=AF_UNIX AF_NETLINK {families}\nDevicePolicy=closed\n"
        );
        for device in self.devices {
            let _ = writeln!(text, "DeviceAllow={device} rw");
        }
        for line in HARDENING.iter().copied().chain([self.protect_home()]).chain(more.iter().copied()) {
            let _ = writeln!(text, "{line}");
        }
        text + "\n[Install]\nWantedBy=multi-user.target\n"
    }

    /// Hides the homes of users, unless the program or its configuration is in one.
    fn protect_home(&self) -> &'static str {
        let is_in_home = |word: &&str| HOMES.iter().any(|home| word.starts_with(home));
        if self.start.iter().chain(self.restore).any(is_in_home) {
            "ProtectHome=read-only"
        } else {
            "ProtectHome=yes"
        }
    }
}

/// A command line of a unit (systemd.service(5), Command lines). Variables are not meant.
fn command(words: &[&str]) -> String {
    words.iter().map(|word| in_quotes(&word.replace('$', "$$"))).collect::<Vec<_>>().join(" ")
}

/// A text of which nothing is a specifier of a unit, as `%i` is.
pub fn literal(text: &str) -> String {
    text.replace('%', "%%")
}

/// One word of a unit's setting, in quotes where it needs them (systemd.syntax(7), Quoting).
pub fn in_quotes(word: &str) -> String {
    let escaped = word.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let is_plain = |letter: char| !letter.is_whitespace() && !matches!(letter, '"' | '\'' | '\\');
    if word.chars().all(is_plain) && !word.is_empty() { escaped } else { format!("\"{escaped}\"") }
}

/// The folders that systemd counts as homes (systemd.exec(5), ProtectHome).
const HOMES: [&str; 3] = ["/home/", "/root/", "/run/user/"];

/// What no daemon of this project needs.
const HARDENING: [&str; 17] = [
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectControlGroups=yes",
    "ProtectProc=invisible",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "MemoryDenyWriteExecute=yes",
    "SystemCallArchitectures=native",
    // Daemons install a narrower filter themselves, by a call that the group has in newer versions of systemd only.
    "SystemCallFilter=@system-service seccomp",
    // A daemon that may not do something says so. By default it would be killed in silence.
    "SystemCallErrorNumber=EPERM",
];

#[cfg(test)]
mod tests;
