"""The command `completion`: a script that lets a shell complete commands, options and names of scenarios."""

import argparse
import re
import sys
from importlib import import_module
from typing import Final

from cluster.cli.options import Parser, describe_command, print_json
from cluster.incidents.incident import incident_files
from cluster.scenario.load import scenario_files

SHELLS: Final = ("bash", "zsh", "fish")

PROGRAM: Final = "stampede"

TAKES_SCENARIO: Final = ("run", "sweep", "check", "scenarios")
"""Commands whose arguments can be a scenario's name."""

_OPTION: Final = re.compile(r"--[a-z][a-z-]*")

_BASH: Final = """\
_stampede() {
  local words current="${COMP_WORDS[COMP_CWORD]}"
  case "$COMP_CWORD:${COMP_WORDS[1]}" in
    1:*) words="%s" ;;
%s
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _stampede stampede
"""

_ZSH: Final = """\
(( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
"""
"""Begins the script of zsh: without its own completion, which not every .zshrc starts, there is no bash's either."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        print_script,
        description="Print a script for a shell.",
        notes='bash: put `eval "$(stampede completion bash)"` into .bashrc; zsh likewise; fish: write it to '
        "~/.config/fish/completions/stampede.fish.",
        example="completion bash",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def print_script(options: argparse.Namespace) -> int:
    """Print the script and return 0."""
    words = words_by_command()
    script = _fish(words) if options.shell == "fish" else _bash(words)
    if options.shell == "zsh":
        script = f"{_ZSH}{script}"
    if options.json:
        print_json({"shell": options.shell, "script": script})
    else:
        sys.stdout.write(script)
    return 0


def words_by_command() -> dict[str, list[str]]:
    """Return the options of each command, read from its help, and the scenarios if it takes a scenario."""
    main = import_module("cluster.cli.main")
    scenarios = list(scenario_files())
    found = {}
    for name in main.COMMANDS:
        parser = Parser(prog=name)
        module = main.load_command([name])
        assert module is not None, "every command has a module"
        module.fill_parser(parser)
        options = dict.fromkeys(_OPTION.findall(parser.format_usage()))
        found[name] = [*options, *(scenarios if name in TAKES_SCENARIO else [])]
    found["incident"] += incident_files()
    found["completion"] += SHELLS
    return found


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    *:{name}) words="{" ".join(known)}" ;;' for name, known in words.items())
    return _BASH % (" ".join(words), cases)


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f'complete -c {PROGRAM} -n "__fish_use_subcommand" -f -a "{" ".join(words)}"']
    lines += [
        f'complete -c {PROGRAM} -n "__fish_seen_subcommand_from {name}" -a "{" ".join(known)}"'
        for name, known in words.items()
    ]
    return "".join(f"{line}\n" for line in lines)
