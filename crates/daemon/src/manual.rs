//! Manual pages and completion scripts of `airwattd`, from the same declarations as `--help`.
//!
//! Pages of the configuration files (section 5) come from the types that read them (`file_format`).

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::{file_format, gateway, output, station, tunnel};

/// The section of programs that change the host.
const SECTION: &str = "8";
const SOURCE: &str = concat!("airwattd ", env!("CARGO_PKG_VERSION"));
/// What `Failure` has.
const EXIT_STATUS: &str = ".SH EXIT STATUS
.TP
0
It was done.
.TP
1
It ran and failed.
.TP
2
An argument or a file is wrong.
.TP
4
A privilege, a device or a feature of the kernel is missing.
.TP
5
Another daemon runs there already.
";
/// What commands of the station read and write.
const STATION_FILES: &str = ".SH FILES
.TP
/etc/airwatt/station.toml
The configuration if none is named, airwattd\\-station (5).
.TP
/etc/airwatt/station\\-INTERFACE.toml
The same for a command with \\-\\-interface, and for airwattd\\-station@INTERFACE.service.
.TP
/var/lib/airwatt/station\\-INTERFACE.json
What the daemon has counted, for `report`. In STATE_DIRECTORY if that is set.
.TP
/var/lib/airwatt/station\\-INTERFACE.off
It exists between `off` and `on`, and no daemon starts on the interface meanwhile.
.TP
/run/airwatt/station\\-INTERFACE.NAMESPACE.jsonl
What was changed on the host, for `restore`.
.TP
/run/airwatt/station\\-INTERFACE.NAMESPACE.sock
The socket of a daemon that runs, for `status` and `off`.
.TP
/run/airwatt/waiting\\-station\\-INTERFACE.NAMESPACE.sock
The same of one that waits for its interface, which is named `:first` if it takes the first.
";

#[derive(Args)]
#[command(after_help = "Example:
  airwattd completion bash > /etc/bash_completion.d/airwattd")]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct Manual {
    /// The folder for the pages
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The date of the pages, as in 2026-01-31
    #[arg(long, value_name = "DATE")]
    date: String,
}

/// Prints the completion script of a shell.
pub(crate) fn complete(arguments: &Completion, mut program: clap::Command) {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "airwattd", &mut script);
    output::print(&String::from_utf8_lossy(&script));
}

/// A page with the usual names of sections, without the empty lines at which mandoc(1) warns.
fn finished(page: &str, name: &str, command: &clap::Command) -> String {
    let page = page.replace(".br\n\n.br\n", ".sp\n");
    let program = if name == "airwattd" { "airwatt (1)" } else { "airwattd (8)" };
    let (before, help) = page.split_once(".SH EXTRA\n").unwrap_or((&page, ""));
    let help = help.split(".SH ").next().unwrap_or_default();
    let (head, rest) = before.split_once(".SH SYNOPSIS\n").unwrap_or((before, ""));
    let rest = rest.find(".SH DESCRIPTION\n").map_or(rest, |begin| &rest[begin..]);
    let files = if name.starts_with("airwattd-station") { STATION_FILES } else { "" };
    let (synopsis, examples) = (synopsis(command), examples(help));
    format!("{head}.SH SYNOPSIS\n{synopsis}{rest}{EXIT_STATUS}{files}{examples}.SH SEE ALSO\n.BR {program}\n")
}

/// The synopsis: the options with their values, which clap_mangen leaves out, and in a line of its own what has commands.
fn synopsis(command: &clap::Command) -> String {
    let name = format!("\\fB{}\\fR", command.get_bin_name().unwrap_or("airwattd"));
    let is_own =
        |arg: &&clap::Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let (values, options): (Vec<_>, Vec<_>) =
        command.get_arguments().filter(is_own).partition(|arg| arg.is_positional());
    let words: Vec<String> = options.into_iter().chain(values).map(word).collect();
    let mut lines = Vec::new();
    if !words.is_empty() || !command.has_subcommands() {
        lines.push([&[name.clone()][..], &words].concat().join(" "));
    }
    if command.has_subcommands() {
        lines.push(format!("{name} \\fICOMMAND\\fR ..."));
    }
    // Words of a command line are not divided, and their gaps are not widened.
    format!(".nh\n.ad l\n{}\n.ad\n.hy\n", lines.join("\n.br\n").replace('-', "\\-"))
}

/// An argument in a synopsis, in which no line ends between an option and its value.
fn word(arg: &clap::Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| format!("\\fI{name}\\fR")).collect::<Vec<_>>().join(" ");
    let option = arg.get_long().map(|long| format!("\\fB--{long}\\fR"));
    let word = match option {
        Some(option) if arg.get_action().takes_values() => format!("{option}\\ {value}"),
        Some(option) => option,
        None => value,
    };
    let word = if arg.is_required_set() { word } else { format!("[{word}]") };
    if matches!(arg.get_action(), ArgAction::Append | ArgAction::Count) { word + "..." } else { word }
}

/// What stands below the options in `--help`: the examples, which begin with spaces and so have lines of their own, and paragraphs.
fn examples(help: &str) -> String {
    match help.trim_start_matches("Examples:\n").trim_start_matches("Example:\n").trim_end() {
        "" => String::new(),
        help => format!(".SH EXAMPLES\n{}\n", help.replace("\n\n", "\n.PP\n")),
    }
}

/// Writes a page for each command.
pub(crate) fn write(arguments: &Manual, program: clap::Command) -> Result<(), Failure> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    pages(&arguments.folder, &arguments.date, &program)?;
    for format in [tunnel::format(), gateway::format(), station::format()] {
        let file = arguments.folder.join(format!("{}.{}", format.name(), file_format::SECTION));
        std::fs::write(&file, format.page(&arguments.date, SOURCE))
            .map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
    }
    Ok(())
}

fn pages(folder: &Path, date: &str, command: &clap::Command) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or("airwattd").to_owned();
    let page = Man::new(command.clone())
        .title(name.to_uppercase())
        .section(SECTION)
        .date(date)
        .source(SOURCE)
        .manual("airwatt");
    let mut text = Vec::new();
    let file = folder.join(format!("{name}.{SECTION}"));
    page.render(&mut text)
        .and_then(|()| std::fs::write(&file, finished(&String::from_utf8_lossy(&text), &name, command)))
        .map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .try_for_each(|inner| pages(folder, date, inner))
}
