"""Options stand once, reach every command that has them, and have the defaults of the library."""

import re
from inspect import signature
from pathlib import Path

import typer

import bayesanno as ba
from bayesanno.cli.app import app
from bayesanno.cli.fit import fit


def test_defaults_are_those_of_the_library():
    own, of_fit = signature(fit).parameters, signature(ba.fit).parameters
    for name in ("method", "draws", "tune", "chains", "target_accept", "nuts_sampler", "initvals"):
        assert own[name].default == of_fit[name].default
    assert (own["format"].default, own["item"].default, own["strip"].default) == (None, None, False)


def test_what_messages_name_are_options_of_a_command():
    sources = [path.read_text(encoding="utf-8") for path in Path(ba.__file__).parent.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"\boption\(['\"](\w+)['\"]", source)}
    commands = typer.main.get_group(app).commands.values()
    known = {flag for command in commands for each in command.params for flag in each.opts}
    assert len(named) > 25
    assert {f"--{name.replace('_', '-')}" for name in named} <= known
