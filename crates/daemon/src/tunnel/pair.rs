//! `pair`: the configurations of both ends of a new tunnel, with new keys, from one question for each end.
//!
//! What is asked is where the client reaches the concentrator, and what the client reaches through it. Everything else is
//! derived, so that nobody edits the files. Left out: further clients of a concentrator that has its file already, and
//! masquerading, which is a matter of the concentrator's firewall.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use airwatt_base::{Span, reason_of};
use clap::Args;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use super::config::Config;
use crate::failure::Failure;
use crate::peering::Peering as _;
use crate::settings::{Prefix, input};
use crate::{keys, output};

/// The UDP port of a concentrator for which none is named.
const PORT: u16 = 4646;
/// The answer that routes every destination into the tunnel.
const EVERYTHING: &str = "everything";

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd tunnel pair
  airwattd tunnel pair --endpoint 192.168.1.1 --reach everything --qr
  airwattd tunnel pair --endpoint vpn.example:443 --reach 192.168.1.0/24 --qr

It asks on the terminal for what --endpoint and --reach do not say.")]
pub(crate) struct Pair {
    /// Where the client reaches the concentrator: an address or host name, and a port (4646)
    #[arg(long, value_name = "HOST[:PORT]")]
    endpoint: Option<String>,
    /// What the client reaches through the tunnel beside the concentrator: prefixes, `everything`, or `nothing`
    #[arg(long, value_name = "PREFIXES")]
    reach: Option<String>,
    /// The networks inside the tunnel, one of each IP version at most: the concentrator gets the first address, the client the second
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', default_value = "10.77.0.0/24")]
    network: Vec<Prefix>,
    /// Where the concentrator listens, if not at the port of --endpoint on all of its addresses
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Time without a datagram after which the client sends an empty one, as 25s: a client behind address translation stays
    /// reachable, and its radio wakes up as often
    #[arg(long, value_name = "TIME")]
    keep_alive: Option<Span>,
    /// The name of the TUN devices, and of the files
    #[arg(long, value_name = "NAME", default_value = "airwatt0")]
    interface: String,
    /// The folder for both files
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Print the client's configuration as a QR code as well; it has the private key
    #[arg(long)]
    qr: bool,
}

/// The configurations of both ends.
struct Files {
    client: String,
    concentrator: String,
    /// Notes for the user: prefixes that are reached in part, because the endpoint is in them.
    notes: Vec<String>,
}

/// `airwattd tunnel pair`.
pub(super) fn pair(options: &Pair) -> Result<(), Failure> {
    if !options.folder.is_dir() {
        let folder = options.folder.display();
        return Err(input(format!(
            "--folder {folder}: expected a folder, got none; hint: mkdir -p {folder}"
        )));
    }
    let endpoint = answer(
        options.endpoint.as_deref(),
        "--endpoint",
        "Concentrator: at which address or name does the client reach it, and at which port (4646)?",
    )?;
    let reach = answer(
        options.reach.as_deref(),
        "--reach",
        "Client: which networks does it reach through the tunnel (as 192.168.1.0/24), everything, or nothing?",
    )?;
    let files = files(options, &with_port(&endpoint), &reach)?;
    let path = |end: &str| options.folder.join(format!("{}-{end}.toml", options.interface));
    let (client, concentrator) = (path("client"), path("concentrator"));
    write_new(&concentrator, &files.concentrator)?;
    // Half a pair is of no use: its key is nowhere else.
    write_new(&client, &files.client).inspect_err(|_| drop(fs::remove_file(&concentrator)))?;
    output::print(&report(&options.interface, &concentrator, &client));
    files.notes.iter().for_each(|note| output::error(note));
    if let (EVERYTHING, [only]) = (&*reach, &options.network[..]) {
        let (inside, outside) = if only.address.is_ipv6() { ("6", "4") } else { ("4", "6") };
        output::error(&format!(
            "everything is all of IPv{inside} here; IPv{outside} does not go through the tunnel, since --network is of IPv{inside}"
        ));
    }
    if options.qr {
        output::print(&qr_code(&files.client)?);
    }
    Ok(())
}

/// What `option` says, or the answer on standard input. Without a terminal, the question is repeated in the error.
fn answer(option: Option<&str>, name: &str, question: &str) -> Result<String, Failure> {
    if let Some(given) = option {
        return Ok(given.trim().to_owned());
    }
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{question} ").and_then(|()| stderr.flush());
    }
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    read.map_err(|error| input(format!("standard input: {}", reason_of(&error))))?;
    match line.trim() {
        "" => Err(input(format!("{name}: expected an answer, got none; {question}"))),
        answer => Ok(answer.to_owned()),
    }
}

/// An address, also in the brackets of one of IPv6, or a name, with its port.
fn with_port(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare.filter(|bare| bare.contains(':')).unwrap_or(host).parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, PORT).to_string(),
        Err(_) if host.contains(':') => host.to_owned(),
        Err(_) => format!("{host}:{PORT}"),
    }
}

/// The prefixes of an answer.
fn prefixes(reach: &str, networks: &[Prefix]) -> Result<Vec<Prefix>, Failure> {
    match reach {
        "nothing" => Ok(Vec::new()),
        EVERYTHING => {
            let all = |network: &Prefix| if network.address.is_ipv6() { "::/0" } else { "0.0.0.0/0" };
            prefixes(&networks.iter().map(all).collect::<Vec<_>>().join(" "), networks)
        }
        list => {
            let words = list.split([',', ' ']).filter(|word| !word.is_empty());
            let prefix = |word: &str| -> Result<Prefix, Failure> {
                let prefix: Prefix = word
                    .parse()
                    .map_err(|error| input(format!("--reach: {error}; or everything, or nothing")))?;
                Ok(prefix.network())
            };
            words.map(prefix).collect()
        }
    }
}

/// The prefixes that the client routes into the tunnel for one that it reaches: the address of the concentrator outside must not be
/// among them, since the tunnel's datagrams would be routed into the tunnel. All destinations have a mark for that.
fn without_endpoint(prefix: Prefix, outside: Option<IpAddr>) -> Vec<Prefix> {
    match outside.filter(|outside| prefix.length > 0 && prefix.contains(*outside)) {
        Some(outside) => prefix.without(outside),
        None => vec![prefix],
    }
}

/// The address with this number in a network.
fn numbered(network: Prefix, number: u8) -> Prefix {
    let address = match network.network().address {
        IpAddr::V4(base) => IpAddr::V4((u32::from(base) + u32::from(number)).into()),
        IpAddr::V6(base) => IpAddr::V6((u128::from(base) + u128::from(number)).into()),
    };
    Prefix { address, ..network }
}

/// The members of an array in a file.
fn quoted(prefixes: impl Iterator<Item = Prefix>) -> String {
    prefixes.map(|prefix| format!("\"{prefix}\"")).collect::<Vec<_>>().join(", ")
}

/// Both configurations, each of which its own end accepts.
fn files(options: &Pair, endpoint: &str, reach: &str) -> Result<Files, Failure> {
    let Pair { interface, network: networks, .. } = options;
    for (index, network) in networks.iter().enumerate() {
        let most = network.width() - 2;
        if network.length > most {
            return Err(input(format!(
                "--network: expected room for two hosts, at most /{most}, got {network}"
            )));
        }
        if networks[..index].iter().any(|other| other.width() == network.width()) {
            return Err(input(format!("--network: expected one of each IP version, got {network} as well")));
        }
    }
    let outside = endpoint.parse().ok().map(|endpoint: SocketAddr| endpoint.ip());
    let holds = |network: &&Prefix| outside.is_some_and(|outside| network.contains(outside));
    if let Some(network) = networks.iter().find(holds) {
        return Err(input(format!(
            "--network: expected a network without the endpoint {endpoint}, got {network}"
        )));
    }
    let inside: Vec<String> =
        networks.iter().map(|network| numbered(*network, 1).address.to_string()).collect();
    let inside = inside.join(" and ");
    let (mut reached, mut notes) = (Vec::new(), Vec::new());
    for prefix in prefixes(reach, networks)? {
        if !networks.iter().any(|network| network.width() == prefix.width()) {
            let (asked, other) = (prefix.version(), networks[0].version());
            return Err(input(format!(
                "--reach: expected prefixes of {other} as those of --network, got {prefix}, which would find no address of {asked} in the tunnel; \
                 hint: a --network of {asked} as well"
            )));
        }
        let rest = without_endpoint(prefix, outside);
        if rest.is_empty() {
            return Err(input(format!(
                "--reach: expected networks beside the concentrator, which the client reaches as {inside}, got {prefix}"
            )));
        }
        if let (Some(outside), false) = (outside, rest == [prefix]) {
            notes.push(format!(
                "{prefix} is reached but for {outside}, where the tunnel ends: that is {inside} in the tunnel"
            ));
        }
        // Prefixes may contain each other.
        reached.extend(rest.into_iter().filter(|one| !reached.contains(one)).collect::<Vec<_>>());
    }
    let forwards = !reached.is_empty();
    let allowed = quoted(networks.iter().map(|network| network.network()).chain(reached));
    let own = quoted(networks.iter().map(|network| numbered(*network, 2)));
    let other = quoted(networks.iter().map(|network| numbered(*network, 1)));
    let only = quoted(networks.iter().map(|network| numbered(*network, 2).alone()));
    let (client_key, concentrator_key) = (keys::new()?, keys::new()?);
    let keep_alive = options.keep_alive.map_or_else(String::new, |time| format!("keep_alive = \"{time}\"\n"));
    let client = format!(
        "interface = \"{interface}\"\naddresses = [{own}]\nend = \"client\"\nprivate_key = \"{}\"\n\
         [tunnel]\ndelay_budget = \"10ms\"\nthin_acks = true\ntriggers = false\n{keep_alive}\
         [[peer]]\nname = \"concentrator\"\npublic_key = \"{}\"\nendpoint = \"{endpoint}\"\nallowed_ips = [{allowed}]\n",
        client_key.to_text(),
        concentrator_key.public(),
    );
    let config = Config::parse(&client).map_err(|failure| of_answers(failure, endpoint))?;
    let any =
        if config.peer[0].address().is_some_and(|address| address.is_ipv6()) { "[::]" } else { "0.0.0.0" };
    let port = endpoint.rsplit_once(':').map_or("", |(_, port)| port);
    let listen = options.listen.map_or_else(|| format!("{any}:{port}"), |address| address.to_string());
    let concentrator = format!(
        "interface = \"{interface}\"\naddresses = [{other}]\nend = \"concentrator\"\nlisten = \"{listen}\"\n\
         private_key = \"{}\"\nforward = {forwards}\n\
         [tunnel]\ndelay_budget = \"10ms\"\nthin_acks = true\n\
         [[peer]]\nname = \"client\"\npublic_key = \"{}\"\nallowed_ips = [{only}]\n",
        concentrator_key.to_text(),
        client_key.public(),
    );
    Config::parse(&concentrator).map_err(|failure| of_answers(failure, endpoint))?;
    Ok(Files { client, concentrator, notes })
}

/// What is wrong with a configuration is wrong with an answer: the keys of the file are named by the questions.
fn of_answers(failure: Failure, endpoint: &str) -> Failure {
    let Failure::Input(line) = failure else { return failure };
    let line = line.replace("peer.0.endpoint: ", "--endpoint: ").replace("peer.0.allowed_ips: ", "--reach: ");
    let line = line.replace("interface: ", "--interface: ").replace("listen: ", "--listen: ");
    let line = line.replace("tunnel.keep_alive: ", "--keep-alive: ");
    input(if line.starts_with("--") { line } else { format!("--endpoint {endpoint}: {line}") })
}

/// Writes a file that only its owner may read, where there is none.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let name = path.display();
    let mut options = OpenOptions::new();
    let written =
        options.write(true).create_new(true).mode(0o600).open(path).and_then(|mut file| {
            file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
        });
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => input(format!(
            "{name}: there is one already, which is left as it is; hint: --interface or --folder"
        )),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Failure::of_io(&name.to_string(), &error)
        }
        _ => input(format!("{name}: {}", reason_of(&error))),
    })
}

/// What was written, and the two commands that remain.
fn report(interface: &str, concentrator: &Path, client: &Path) -> String {
    let [concentrator, client] = [concentrator, client].map(Path::display);
    format!(
        "wrote {concentrator} and {client}; each has a private key\n\
         at the concentrator:  airwattd tunnel up {concentrator}\nat the client:        airwattd tunnel up {client}\n\
         as a service, whose unit reads the file under this name:\n  \
         install -Dm 600 FILE /etc/airwatt/{interface}.toml && systemctl enable --now airwattd-tunnel@{interface}\n"
    )
}

/// The text as a QR code for a terminal, dark on light, two rows of modules in a line.
fn qr_code(text: &str) -> Result<String, Failure> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L)
        .map_err(|error| input(format!("--qr: {} bytes are too much for a QR code: {error}", text.len())))?;
    // Colours are exchanged, since terminals write light on dark.
    let picture = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    Ok(picture + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Pair {
        Pair {
            endpoint: None,
            reach: None,
            network: vec!["10.77.0.0/24".parse().unwrap()],
            listen: None,
            keep_alive: None,
            interface: "airwatt0".to_owned(),
            folder: ".".into(),
            qr: true,
        }
    }

    #[test]
    fn both_ends_know_each_other() {
        for (endpoint, reach, listen) in [
            ("192.168.1.1", "192.168.1.128/25", "0.0.0.0:4646"),
            ("router.example:999", "everything", "0.0.0.0:999"),
            ("fd00::1", "nothing", "[::]:4646"),
            ("[fd00::1]", "nothing", "[::]:4646"),
            ("[fd00::1]:7", "10.0.0.0/8 192.0.2.7", "[::]:7"),
        ] {
            let files = files(&options(), &with_port(endpoint), reach).unwrap();
            let client = Config::parse(&files.client).unwrap();
            let concentrator = Config::parse(&files.concentrator).unwrap();
            assert_eq!(concentrator.listen.unwrap().to_string(), listen, "{endpoint}");
            let public = |config: &Config| config.private_key.as_ref().unwrap().public();
            assert_eq!(client.peer[0].public_key, Some(public(&concentrator)));
            assert_eq!(concentrator.peer[0].public_key, Some(public(&client)));
            assert_eq!(concentrator.peer[0].allowed_ips[0].address, client.addresses[0].address);
            assert_eq!(concentrator.forward, reach != "nothing");
            // A code that fits on a terminal of 80 columns.
            let code = qr_code(&files.client).unwrap();
            let width = code.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(width <= 80, "{width} columns for {} bytes", files.client.len());
        }
    }

    #[test]
    fn a_prefix_is_reached_but_for_the_concentrators_address_outside() {
        let reach = "192.168.1.0/29 192.168.2.0/24 192.168.1.0/30";
        let files = files(&options(), &with_port("192.168.1.1"), reach).unwrap();
        assert_eq!(
            files.notes[0],
            "192.168.1.0/29 is reached but for 192.168.1.1, where the tunnel ends: that is 10.77.0.1 in the tunnel"
        );
        let client = Config::parse(&files.client).unwrap();
        let allowed: Vec<String> = client.peer[0].allowed_ips.iter().map(ToString::to_string).collect();
        assert_eq!(
            allowed,
            ["10.77.0.0/24", "192.168.1.4/30", "192.168.1.2/31", "192.168.1.0/32", "192.168.2.0/24"]
        );
        let both = ["10.77.0.0/24", "fd77::/64"].map(|network| network.parse().unwrap());
        let options = Pair { network: both.into(), ..options() };
        let files = super::files(&options, &with_port("fd00::1"), "fd00::/126").unwrap();
        let client = Config::parse(&files.client).unwrap();
        let allowed: Vec<String> = client.peer[0].allowed_ips.iter().map(ToString::to_string).collect();
        assert_eq!(allowed, ["10.77.0.0/24", "fd77::/64", "fd00::2/127", "fd00::/128"]);
    }

    #[test]
    fn both_ip_versions_a_keep_alive_and_an_address_to_listen_on_are_options() {
        let options = Pair {
            network: ["10.77.0.0/24", "fd77::/64"].map(|network| network.parse().unwrap()).into(),
            listen: Some("[::]:999".parse().unwrap()),
            keep_alive: Some(Span::from_secs(25)),
            ..options()
        };
        let files = files(&options, "router.example:4646", EVERYTHING).unwrap();
        let client = Config::parse(&files.client).unwrap();
        let concentrator = Config::parse(&files.concentrator).unwrap();
        assert_eq!(client.default_routes(), [false, true]);
        assert_eq!(client.tunnel.keep_alive, Some(Span::from_secs(25)));
        assert_eq!(concentrator.tunnel.keep_alive, None);
        let texts = |prefixes: &[Prefix]| prefixes.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&client.addresses), ["10.77.0.2/24", "fd77::2/64"]);
        assert_eq!(texts(&concentrator.addresses), ["10.77.0.1/24", "fd77::1/64"]);
        assert_eq!(texts(&concentrator.peer[0].allowed_ips), ["10.77.0.2/32", "fd77::2/128"]);
        assert_eq!(concentrator.listen.unwrap().to_string(), "[::]:999");
    }

    #[test]
    fn what_is_wrong_is_named_by_its_question() {
        let mut small = options();
        small.network = vec!["10.0.0.0/31".parse().unwrap()];
        let mut twice = options();
        twice.network = ["10.0.0.0/24", "10.1.0.0/24"].map(|network| network.parse().unwrap()).into();
        let mut unheard = options();
        unheard.listen = Some("192.168.1.1:0".parse().unwrap());
        let mut around = options();
        around.network = vec!["192.168.1.0/24".parse().unwrap()];
        let mut long = options();
        long.interface = "a-name-that-is-too-long".to_owned();
        for (options, endpoint, reach, expected) in [
            (options(), "192.168.1.1", "here", "--reach: expected a prefix"),
            (
                options(),
                "192.168.1.1",
                "0.0.0.0/0,::/0",
                "--reach: expected prefixes of IPv4 as those of --network, got ::/0",
            ),
            (options(), "no name", "nothing", "--endpoint: expected an address and a port"),
            (options(), "192.168.1.1", "192.168.1.1", "--reach: expected networks beside the concentrator"),
            (around, "192.168.1.1", "nothing", "--network: expected a network without the endpoint"),
            (small, "192.168.1.1", "nothing", "--network: expected room for two hosts"),
            (long, "192.168.1.1", "nothing", "--interface: expected a name"),
            (twice, "192.168.1.1", "nothing", "--network: expected one of each IP version"),
            (options(), "192.168.1.1:0", "nothing", "--endpoint: expected an address and a port"),
            (unheard, "192.168.1.1", "nothing", "--listen: expected a port"),
        ] {
            match files(&options, &with_port(endpoint), reach) {
                Err(Failure::Input(line)) => assert!(line.starts_with(expected), "{line}"),
                other => panic!("{endpoint} {reach}: {}", other.is_ok()),
            }
        }
    }
}
