"""`airwatt completion`: a script that completes commands, options and names in a shell.

The script holds everything that it offers, so that a press of the Tab key starts no program. It is written from the
declarations of the commands and the lists that the core has. Left out: keys after --set and --over, and kinds of files.
"""

from importlib import import_module
from typing import Annotated

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import COMMANDS
from airwatt.cli.output import print_text
from airwatt.cli.parameters import Argument, Option, declared
from airwatt.cli.topics import TOPICS

EPILOG = """\b
Examples:
  airwatt completion bash
  airwatt completion fish
"""

SHELLS = ("bash", "zsh", "fish")


def command(
    shell: Annotated[str, Argument(metavar="bash|zsh|fish", help="The shell.", show_default=False)],
) -> None:
    """Print the completion script of a shell.

    For bash: airwatt completion bash > ~/.local/share/bash-completion/completions/airwatt
    """
    if shell not in SHELLS:
        raise InputError(f"completion {shell}: expected one of {', '.join(SHELLS)}, got {shell!r}")
    print_text(_fish() if shell == "fish" else _bash(shell))


def _names() -> dict[str, list[str]]:
    """What may follow an option or a command, by its name."""
    from airwatt import models
    from airwatt.reproductions import catalogue

    scenarios = [item["name"] for item in laboratory.scenarios()]
    published = [home.id(item) for home, item in catalogue.choose(["all"])]
    names = {
        "--policy": ["all", *(item["name"] for item in laboratory.policies())],
        "--transport": [item["name"] for item in laboratory.transports()],
        "--radio": [item["name"] for item in laboratory.radios()],
        "radios": [item["name"] for item in laboratory.radios()],
        "sweep": ["status", "resume", "retry", "export", *scenarios],
        "model": ["list", *models.ALL],
        "reproduce": ["list", "all", *(home.name for home in catalogue.documents()), *published],
        "completion": list(SHELLS),
        "help": [*COMMANDS, *TOPICS],
    }
    return names | dict.fromkeys(("run", "compare", "emulate", "report", "explore", "scenarios"), scenarios)


def _options(name: str) -> dict[str, str]:
    """The long options of a command with their help."""
    parameters = declared(import_module(f"airwatt.cli.{name}").command).values()
    options = [parameter for _, parameter in parameters if isinstance(parameter, Option)]
    found = {option.names[0]: str(option.attributes.get("help", "")) for option in options}
    return found | {"--help": "Show help and exit."}


def _bash(shell: str) -> str:
    names = _names()
    cases = "\n".join(
        f"        {name}) options='{' '.join(_options(name))}'; names='{' '.join(names.get(name, []))}' ;;"
        for name in COMMANDS
    )
    values = "\n".join(
        f"        {option}) COMPREPLY=($(compgen -W '{' '.join(items)}' -- \"$word\")); return ;;"
        for option, items in names.items()
        if option.startswith("--")
    )
    start, function, end = "", "_airwatt", ""
    if shell == "zsh":
        start = "#compdef airwatt\nautoload -U +X bashcompinit && bashcompinit\n"
        # zsh loads a file of its completions at the first press of Tab, and expects the answer of it.
        function = "_airwatt_words"
        end = f'[ "$funcstack[1]" = _airwatt ] && _bash_complete -o filenames -F {function}\n'
    return f"""{start}{function}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options names
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{" ".join(COMMANDS)} --help --version' -- "$word"))
        return
    fi
    case $before in
{values}
    esac
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "$names" -- "$word") $(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F {function} airwatt
{end}"""


def _fish() -> str:
    names = _names()
    lines = [f"complete -c airwatt -n __fish_use_subcommand -f -a '{' '.join(COMMANDS)}'"]
    for name in COMMANDS:
        seen = f"complete -c airwatt -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{seen} -a '{' '.join(names[name])}'"] if name in names else []
        for option, text in _options(name).items():
            values = f" -x -a '{' '.join(names[option])}'" if option in names else ""
            quoted = text.replace("\\", "").replace("'", "\\'")
            lines.append(f"{seen} -l {option.removeprefix('--')}{values} -d '{quoted}'")
    return "\n".join(lines) + "\n"
