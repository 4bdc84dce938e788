"""`airwatt analyze`: what a station's radio spent, or would have spent, from a real capture."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt import laboratory
from airwatt._core import InputError, RunError, analysis_schema
from airwatt.cli import air, decryption, findings, measured, options, replays, verdicts
from airwatt.cli.output import (
    check_distinct,
    check_file,
    check_picture,
    note_file,
    print_json,
    say,
    show,
    streaming,
    writing,
)
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.presentation import holding, keep
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED
from airwatt.layout import printable
from airwatt.statistics import leaves
from airwatt.threshold import RowNumbers

if TYPE_CHECKING:
    from airwatt.battery import Battery
    from airwatt.layout import Table
    from airwatt.results import Analysis
    from airwatt.threshold import Threshold

EPILOG = """\b
Examples:
  airwatt analyze captures/tcp-download.pcapng
  airwatt analyze captures/tcp-download.pcapng --policy active,psm --json
  airwatt analyze captures/tcp-download.pcapng --plot slept.png
"""

_MOST_CANDIDATES = 10


def _print_schema(asked: bool) -> bool:
    return options.print_schema(asked, analysis_schema)


def _anonymize(capture: str, out: Path, user: str | None) -> None:
    with streaming("--anonymize", out) as file, bar(_printable(Path(capture).name or capture)) as on_progress:
        assert file is not None
        laboratory.anonymize(capture, file, user=options.parser_of_captures(user), on_progress=on_progress)


def command(
    capture: Annotated[
        str,
        Argument(
            help="A capture file (pcap or pcapng, also .gz or .zst), a folder of them, or - for standard input.",
            show_default=False,
        ),
    ],
    station: Annotated[
        list[str] | None,
        Option(
            "--station",
            metavar="ADDR",
            help="IP or MAC address, or all; may be repeated; default: the one that leaves no doubt.",
        ),
    ] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="NAME", help="Radio profile: a name or a TOML file.")
    ] = None,
    policy: Annotated[
        str | None,
        Option(
            "--policy",
            metavar="A,B,...",
            help="Power-save policies, as in psm,uapsd:interval=40ms; default: all but twt.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a key of the cell or the station, as in wifi.beacon_rate=1Mbps; may be repeated.",
        ),
    ] = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    seed: options.Seed = 1,
    wpa_pwd: options.WpaPwd = None,
    wpa_psk: options.WpaPsk = None,
    limit: options.Limit = None,
    user: options.User = None,
    json: options.Json = False,
    current: Annotated[
        Path | None,
        Option("--current", metavar="CSV", help="Lay a measured current (PPK2, Otii) beside the prediction."),
    ] = None,
    offset: Annotated[
        str | None,
        Option("--offset", metavar="TIME", help="Time of the capture at which --current begins; default: found."),
    ] = None,
    plot: options.Plot = None,
    plot_findings: Annotated[
        Path | None,
        Option("--plot-findings", metavar="DIR", help="Draw a picture of each finding into a folder."),
    ] = None,
    perfetto: Annotated[
        Path | None,
        Option("--perfetto", metavar="FILE", help="Write who slept when for the Perfetto viewer."),
    ] = None,
    trace: Annotated[
        Path | None,
        Option("--trace", metavar="DIR", help="Write modes, frames, states and findings as Parquet into a folder."),
    ] = None,
    pcap: Annotated[
        Path | None,
        Option("--pcap", metavar="FILE", help="Write the capture as pcapng with comments that Wireshark shows."),
    ] = None,
    anonymize: Annotated[
        Path | None,
        Option(
            "--anonymize",
            metavar="FILE",
            help="Write the capture as pcapng without names, addresses and contents, for a bug report, and end.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, Option("--junit", metavar="FILE", help="Write the rules as test cases for CI (JUnit XML).")
    ] = None,
    sarif: Annotated[
        Path | None, Option("--sarif", metavar="FILE", help="Write what was violated as SARIF 2.1.0.")
    ] = None,
    compare: Annotated[
        Path | None,
        Option("--compare", metavar="JSON", help="Exit with 1 if a rule is violated more often than in this document."),
    ] = None,
    strict: Annotated[
        bool,
        Option(
            "--strict",
            help="With --fail-if, --junit, --sarif, --compare: exit with 1 if a rule is undecidable.",
        ),
    ] = False,
    allow_unchecked: Annotated[
        bool,
        Option(
            "--allow-unchecked",
            help="With the same: do not exit with 1 for a capture that is cut or damaged, or for other stations.",
        ),
    ] = False,
    schema: Annotated[
        bool,
        Option("--schema", help="Print the JSON schema of the document.", is_eager=True, callback=_print_schema),
    ] = False,
    fail_if: options.FailIf = None,
) -> None:
    """Say what a station's radio spent or would have spent under each policy, and what is worth knowing.

    Reads Ethernet, raw IP, Linux cooked and 802.11 captures. What a policy would have spent is simulated: from the
    packets' times and the captured rates, or an assumed PHY, which gives a low and a high band. What a station did is
    measured if its frames have their rates.
    Of long idle times a part is simulated, so that a capture of days costs what its packets cost.
    """
    # A line that is read without typer has not called it.
    _print_schema(schema)
    check_picture("--plot", plot)
    check_file("--perfetto", perfetto)
    check_file("--pcap", pcap)
    check_file("--anonymize", anonymize)
    check_file("--junit", junit)
    check_file("--sarif", sarif)
    outputs = {
        "--plot": plot, "--perfetto": perfetto, "--pcap": pcap, "--anonymize": anonymize, "--junit": junit,
        "--sarif": sarif,
    }  # fmt: skip
    check_distinct(outputs, capture, radio, current, compare)
    if anonymize is not None:
        answers = {
            "--plot": plot, "--plot-findings": plot_findings, "--perfetto": perfetto, "--trace": trace, "--pcap": pcap,
            "--junit": junit, "--sarif": sarif, "--compare": compare, "--fail-if": fail_if, "--current": current,
            "--json": json,
        }  # fmt: skip
        if unwritten := [option for option, value in answers.items() if value]:
            raise InputError(f"{unwritten[0]}: --anonymize writes a copy and ends; call analyze again with the copy")
        _anonymize(capture, anonymize, user)
        return
    before = None if compare is None else verdicts.baseline(compare)
    traced = any(wanted is not None for wanted in (plot, plot_findings, perfetto, trace))
    _refuse(capture, station, current, offset, pcap)
    policies = _policies_of(options.names("--policy", policy))
    settings = options.overrides(set_)
    lasting = options.battery(battery, allow_borrowed)
    offset_s = None if offset is None else _offset_s(offset)
    limits = _thresholds(fail_if, policies)
    reader = options.parser_of_captures(user)
    passphrases, keys = options.secrets("--wpa-pwd", wpa_pwd, capture), options.secrets("--wpa-psk", wpa_psk, capture)
    label = _printable(Path(capture).name or capture)
    with holding(trace):
        with _telling(junit, capture), bar(label) as on_progress:
            analysis = laboratory.analyze(
                capture,
                station=station,
                radio=radio,
                policies=policies,
                settings=settings,
                seed=seed,
                trace=traced,
                current=current,
                offset=offset_s,
                load_a=0.0 if lasting is None else lasting.load_a,
                load_w=0.0 if lasting is None else lasting.load_w,
                wpa_pwd=passphrases,
                wpa_psk=keys,
                limit=limit,
                user=reader,
                on_progress=on_progress,
            )
        of_findings, of_station = _divided(limits)
        asked = {
            "--current": current, "--battery": battery, "--policy": policy, "--plot": plot,
            "--fail-if": of_station or None,
        }  # fmt: skip
        about_station = [option for option, value in asked.items() if value is not None]
        try:
            _require_station(analysis, about_station, junit, json=json)
        except Exit:
            # Limits that are about all stations hold also where what was asked of one cannot be answered.
            document = analysis.to_dict()
            _hold(of_findings, document, [document], strict=strict)
            raise
        _keep(analysis, plot, perfetto, trace, what_if=policy is not None)
        if plot_findings is not None:
            _draw_findings(analysis.of_stations, plot_findings)
    if pcap is not None:
        with streaming("--pcap", pcap) as out, bar(label) as on_progress:
            assert out is not None
            laboratory.annotate(
                capture,
                out,
                remarks=_remarks(analysis),
                wpa_pwd=passphrases,
                wpa_psk=keys,
                limit=limit,
                user=reader,
                on_progress=on_progress,
            )
    document = analysis.to_dict()
    documents = document.get("analyses", [document])
    for one in documents:
        one.pop("timeline", None)
        if lasting is not None:
            _add_lifetimes(one, lasting)
    if json:
        print_json(document)
    else:
        show(*itertools.chain.from_iterable(_parts(one, lasting) for one in documents))
    gaps = verdicts.gaps(documents, named=bool(station))
    if junit or sarif or compare or any(map(verdicts.is_of_many, limits)):
        gaps += verdicts.unheard(documents)
    if junit is not None:
        unread = documents[0]["capture"].get("unread", [])
        lacking = [*unread, *([] if allow_unchecked else gaps)]
        # Without a decision about them the command fails, too.
        asked_kinds = _asked_kinds(of_findings, documents, strict=strict)
        verdicts.write_junit(junit, documents, strict=strict, gaps=lacking, asked=asked_kinds)
    if sarif is not None:
        verdicts.write_sarif(sarif, documents)
    if compare is not None and before is not None:
        verdicts.compare(compare, before, documents)
    for option, wanted in (("--junit", junit), ("--sarif", sarif), ("--compare", compare)):
        if wanted is not None:
            verdicts.check_any(option, verdicts.counts(documents), documents, strict=strict)
    if strict and not limits and compare is None:
        verdicts.say_violated(documents)
    _hold(limits, document, documents, strict=strict)
    if junit or sarif or compare or of_findings:
        verdicts.check_gaps(gaps, allowed=allow_unchecked)
    elif limits:
        # An energy is that of the station that it is asked of; what the capture lacks it lacks as well.
        verdicts.check_gaps(verdicts.gaps(documents, named=True), allowed=allow_unchecked)
    decryption.require(documents)
    _require_whole(documents[0]["capture"])


def _refuse(
    capture: str, station: list[str] | None, current: Path | None, offset: str | None, pcap: Path | None
) -> None:
    """Raises `InputError` for options that contradict each other."""
    if current is None and Path(capture).suffix.lower() == ".csv":
        made = "airwatt run idle --pcap idle.pcapng makes one of an idle device"
        raise InputError(f"{capture}: a measured current goes beside a capture, with --current FILE; hint: {made}")
    if offset is not None and current is None:
        raise InputError("--offset: expected --current with it, got none")
    if current is not None and (len(station or ()) > 1 or station == ["all"]):
        raise InputError("--station: expected one station with --current, whose current it is, got several")
    if pcap is not None and capture == "-":
        raise InputError("--pcap: expected a capture in a file, which is read twice, got standard input")


def _divided(limits: "list[Threshold]") -> "tuple[list[Threshold], list[Threshold]]":
    """Limits about findings, which are those of all stations where none is named, and those about one station."""
    of_findings = [limit for limit in limits if limit.key.startswith("findings.")]
    return of_findings, [limit for limit in limits if limit not in of_findings]


@contextmanager
def _telling(junit: Path | None, capture: str) -> Iterator[None]:
    """Enters into the file of `--junit` that the capture could not be analysed, and raises the error on."""
    try:
        yield
    except (InputError, RunError) as error:
        if junit is not None:
            verdicts.write_junit_error(junit, capture, str(error))
        raise


def _require_station(analysis: "Analysis", asked: list[str], junit: Path | None, *, json: bool) -> None:
    """Exits with 1 if something was asked of a station, and the capture has none or leaves doubt which is meant.

    Nothing is written but the candidates, with `json` in the document, and what went wrong into the file of `--junit`.
    """
    document = analysis.to_dict()
    if not asked or document.get("station", "") is not None:
        return
    if json:
        print_json({name: value for name, value in document.items() if name != "timeline"})
    else:
        show(*_heading(document))
    why = "the capture leaves doubt which station is meant: expected --station ADDR, for"
    text = f"{why if document['candidates'] else 'expected a capture with a station, got none, for'} {', '.join(asked)}"
    if junit is not None:
        verdicts.write_junit_error(junit, document["capture"]["file"], text)
    say(text)
    raise Exit(FAILED)


def _require_whole(capture: dict[str, Any]) -> None:
    """Exits with 1 if files of a folder could not be read, after the analysis of the others."""
    unread = capture.get("unread", [])
    if unread:
        files = "1 file" if len(unread) == 1 else f"{len(unread)} files"
        say(f"{printable(capture['file'])}: {files} could not be read, and the others were analysed")
        raise Exit(FAILED)


def _all_policies() -> list[str]:
    return [str(policy["name"]) for policy in laboratory.policies()]


def _policies_of(names: list[str] | None) -> list[str]:
    """Puts every policy in the place of `all`, each once."""
    expanded = [own for name in names or () for own in (_all_policies() if name == "all" else [name])]
    return list(dict.fromkeys(expanded))


def _offset_s(text: str) -> float:
    """Reads a time with its unit, also one before the capture, as in -250ms. Raises `InputError`."""
    from airwatt import advice

    sign = -1.0 if text.startswith("-") else 1.0
    return sign * advice.quantity("--offset", text.removeprefix("-"), "time")


def _thresholds(expressions: list[str] | None, policies: list[str]) -> "list[Threshold]":
    """Reads `--fail-if` before the capture is read.

    Raises `InputError` for a policy that is not asked for and for a kind of finding that does not exist.
    """
    limits = options.thresholds(expressions)
    names = policies or [policy["name"] for policy in laboratory.policies() if policy["replayed_by_default"]]
    for limit in limits:
        limit.check_rows([{"policy": name} for name in names])
        if limit.key.startswith("findings.") and not limit.row:
            whole, kinds = verdicts.by_severity(limit, verdicts.counts(()))
            whole.trips(dict(leaves({"findings": kinds})))
    return limits


def _hold(
    limits: "list[Threshold]", document: dict[str, Any], documents: list[dict[str, Any]], *, strict: bool
) -> None:
    """Exits with 3 where a threshold does not hold: of the whole document, or of the policies that it names.

    Raises `RunError` where the captures decide nothing about it.
    """
    counts = verdicts.counts(documents)
    rows = [
        RowNumbers({"policy": policy["policy"]}, dict(leaves(policy)))
        for one in documents
        for policy in one["policies"]
    ]
    of_kinds = [verdicts.by_severity(limit, counts) for limit in limits]
    unknown = [None if limit.row else verdicts.unknown_cost(limit.key, kinds) for limit, kinds in of_kinds]

    def whole(kinds: verdicts.Counts) -> list[RowNumbers]:
        return [RowNumbers({}, dict(leaves({**document, "findings": verdicts.known(kinds)})))]

    options.hold_rows(
        (limit, rows if limit.row else whole(kinds))
        for (limit, kinds), why in zip(of_kinds, unknown, strict=True)
        if why is None
    )
    for limit, why in zip(limits, unknown, strict=True):
        if why is not None:
            raise RunError(f"--fail-if {limit.text!r}: was not evaluated: {why}")
    for limit, kinds in of_kinds:
        if limit.key.startswith("findings."):
            kind = limit.key.split(".")[1]
            if kind == "*":
                verdicts.check_any(f"--fail-if {limit.text!r}", kinds, documents, strict=strict, each=True)
            else:
                verdicts.check_evaluated(f"--fail-if {limit.text!r}", [kind], documents, strict=strict)


def _asked_kinds(limits: "list[Threshold]", documents: list[dict[str, Any]], *, strict: bool) -> set[str]:
    """The kinds that limits name and, with `strict`, those of the severities that they name that are not evaluated."""
    counts, asked = verdicts.counts(documents), set()
    for limit in limits:
        by_kind, of_severity = verdicts.by_severity(limit, counts)
        kind = by_kind.key.split(".")[1]
        if kind != "*":
            asked.add(kind)
        elif strict:
            asked.update(verdicts.unevaluated(of_severity, documents))
    return asked


def _keep(whole: "Analysis", plot: Path | None, perfetto: Path | None, trace: Path | None, *, what_if: bool) -> None:
    """Writes the time lines in the forms that were asked for: one picture, and a file or folder for each station.

    What frames show stands alone in a picture unless `what_if` asks for simulated lanes as well.

    Raises `InputError` or `RunError`.
    """
    analyses = whole.of_stations
    for analysis in analyses:
        picture, line, folder = plot, perfetto, trace
        if len(analyses) > 1:
            address = str(analysis["station"]).replace(":", "-")
            picture = None
            line = perfetto and perfetto.with_name(f"{perfetto.stem}-{address}{perfetto.suffix}")
            if trace is not None:
                folder = trace / address
                with writing("--trace", trace):
                    folder.mkdir(exist_ok=True)
        if picture is not None:
            _check_drawable(analysis, picture)
            measured = analysis.to_dict().get("current")
            if measured is not None and not measured.get("windows"):
                say(f"--plot {picture}: without the measured current, which has no place on the capture's clock")
        keep(analysis, folder, None, line, picture, what_if or analysis.to_dict()["air"] is None)
    if plot is not None and len(analyses) > 1:
        from airwatt.plots import analyze as pictures

        with writing("--plot", plot):
            pictures.draw_stations(whole.to_dict()["analyses"], plot)
        note_file(plot)


def _draw_findings(analyses: "list[Analysis]", folder: Path) -> None:
    """Draws each finding of 802.11 frames into a folder, which is made if it is missing. Raises `InputError`."""
    from airwatt.plots import finding

    paths = []
    with writing("--plot-findings", folder):
        folder.mkdir(exist_ok=True)
        for analysis in analyses:
            paths += finding.draw_all(analysis.to_dict(), folder)
    # A finding about an access point is one of each of its stations.
    for path in dict.fromkeys(paths):
        note_file(path)
    if not paths:
        say(f"--plot-findings {folder}: no picture, since no rule of 802.11 was violated")


def _remarks(analysis: "Analysis") -> list[tuple[int, str]]:
    """The findings that do not follow from 802.11 frames: an annotated copy has the others by itself."""
    return [
        (place["packet"], finding["text"])
        for one in analysis.of_stations
        for finding in one.to_dict()["findings"]
        if finding["kind"] == "keep-alive"
        for place in finding["occurrences"]
    ]


def _add_lifetimes(document: dict[str, Any], battery: "Battery") -> None:
    volts = measured.radio_voltage(document)
    voltage = battery.voltage(volts)
    document["battery"] = {"text": battery.text, "capacity_j": battery.capacity_j(volts), "voltage_v": voltage}
    if document.get("current") is not None:
        measured.add_lifetimes(document, battery)
    for policy in document["policies"]:
        refused = battery.refuses(policy["profile"])
        policy["battery_lasts_s"] = None if refused else battery.lasts_s(policy["average_power_w"], volts)


def _printable(name: str) -> str:
    """Gives the name as the document has it: bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode(errors="replace")


def _check_drawable(analysis: "Analysis", plot: Path) -> None:
    """Raises `InputError` if the station has nothing to draw."""
    document = analysis.to_dict()
    if not document["policies"] and document["air"] is None:
        raise InputError(f"--plot {plot}: expected a station with packets that can be replayed, got one without")


_SHORT_TAIL = 0.005
"""A share of the time that no comparison of energies sees."""


def _tail(document: dict[str, Any]) -> list[str]:
    """Says that more time is charged than was captured, where it is a share that counts."""
    from airwatt.tables import count, quantity

    capture, pace = document["capture"], document.get("pace")
    if pace is None or not document["policies"]:
        return []
    after_s = pace["elapsed_s"] - capture["covered_s"]
    if after_s <= _SHORT_TAIL * pace["elapsed_s"]:
        return []
    segments = len(capture["segments"])
    where = "the capture" if segments == 1 else f"each of its {count(segments)} parts"
    whole, after = quantity(pace["elapsed_s"], "s"), quantity(after_s / segments, "s")
    return [
        f"note: energies and shares are of {whole}: {after} after {where} count, in which packets that wait still "
        "arrive"
    ]


def _heading(document: dict[str, Any]) -> "Iterator[str | Table]":
    """What the capture is, and which station is meant."""
    from airwatt.tables import count, percent, quantity

    capture = document["capture"]
    up_to = " up to where the file is cut or damaged" if verdicts.cuts(capture) else ""
    lines = [
        f"{printable(capture['file'])}: {capture['format']}, {', '.join(capture['link_types'])}, "
        f"{count(capture['packets_used'])} of {count(capture['packets'])} packets used{up_to}, "
        f"{quantity(capture['covered_s'], 's')}"
    ]
    files = capture.get("files", [])
    if len(files) > 1:
        lines.append(f"{count(len(files))} files, from {printable(files[0][0])}")
    lines += [f"note: {printable(note)}" for note in capture["notes"]]
    lines += _tail(document)
    lines += decryption.lines(capture)
    sizes = {name: size for name, size in document["bytes"].items() if size}
    if document["station"] is not None:
        bytes_ = ", ".join(f"{quantity(n, 'B')} {k}" for k, n in sizes.items())
        lines.append(f"station {document['station']}: {bytes_ or 'no IP packets'}")
        if document["station_share"] is not None:
            is_alone = not sizes and len(document["candidates"]) == 1
            share = "it is alone" if is_alone else f"it has {percent(document['station_share'])} of the bytes"
            lines.append(f"chosen since {share}; --station names another")
    yield "\n".join(lines)
    if document["station"] is None and document["candidates"]:
        yield "The capture leaves doubt which station is meant; choose one with --station:"
        yield _candidates(document["candidates"])


def _parts(document: dict[str, Any], battery: "Battery | None") -> "Iterator[str | Table]":
    yield from _heading(document)
    # What was measured is what was asked for.
    yield from measured.parts(document, battery)
    yield from findings.rules(document)
    # What happened stands before what would have happened.
    if document["air"] is not None:
        yield from air.parts(document["air"], document["capture"]["covered_s"])
    yield from findings.costs(document)
    yield from replays.parts(document, battery)
    yield from _group(document)
    yield from findings.remarks(document)


def _candidates(candidates: list[dict[str, Any]]) -> "Table":
    from airwatt.tables import count, quantity, table

    rows = [
        [
            item["address"],
            count(item["packets"]),
            quantity(item["bytes_sent"], "B"),
            quantity(item["bytes_received"], "B"),
        ]
        for item in candidates[:_MOST_CANDIDATES]
    ]
    if len(candidates) > _MOST_CANDIDATES:
        rows.append([f"and {len(candidates) - _MOST_CANDIDATES} more", "", "", ""])
    return table(["address", "packets", "sent", "received"], rows)


def _group(document: dict[str, Any]) -> "Iterator[str | Table]":
    """What group-addressed frames cost a sleeping station."""
    from airwatt.tables import NOTHING, count, quantity, table

    group = document["group"]
    if group is None:
        return
    volts = measured.radio_voltage(document)
    yield (
        f"group-addressed frames, received after DTIM beacons while asleep ({group['rate']}, "
        f"{quantity(group['elapsed_s'], 's')}): {quantity(group['energy_j'], 'J')} if all of them are, and for each "
        "beacon that announces some the part behind its TIM, which a station otherwise leaves out and which counts "
        "with beacons; the energies above have both as far as the policy receives them"
    )
    rows = []
    for cost in group["protocols"]:
        current = cost["average_power_w"] / volts if volts else None
        rows.append(
            [
                cost["protocol"],
                count(cost["frames"]),
                quantity(cost["bytes"], "B"),
                quantity(cost["air_s"], "s"),
                quantity(cost["energy_j"], "J"),
                quantity(cost["average_power_w"], "W"),
                NOTHING if current is None else quantity(current, "A"),
            ]
        )
    yield table(["protocol", "frames", "on the air", "air time", "energy", "power", "current"], rows)
