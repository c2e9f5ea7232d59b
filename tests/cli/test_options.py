"""The options of reading stand once, and reach every command that reads DATA."""

from inspect import signature

import pytest

from bayesanno._core.errors import DataError
from bayesanno.cli.agreement import agreement, noise
from bayesanno.cli.compare import compare, sensitivity
from bayesanno.cli.fit import fit
from bayesanno.cli.options import DATA_OPTIONS, DEFAULTS, OF_MODELS, DataOptions, gather_options, reads_data

LACKING = {
    fit: set(),
    compare: set(),
    sensitivity: {"successes", "trials"},
    noise: {*OF_MODELS},
    agreement: {*OF_MODELS},
}


@pytest.mark.parametrize("command", LACKING, ids=lambda command: command.__name__)
def test_a_command_has_the_options_of_reading_in_their_order(command):
    named = [name for name in signature(command).parameters if name in DATA_OPTIONS]
    own = named[1:] if command is noise else named  # its first is --items N
    assert own == [name for name in DATA_OPTIONS if name not in LACKING[command]]


def test_a_command_finds_what_the_options_say():
    found = []

    @reads_data(without=OF_MODELS)
    def command(data: str, *, options: DataOptions) -> None:
        found.append((data, options))

    given = {name: DEFAULTS.get(name) for name in DATA_OPTIONS if name not in OF_MODELS}
    command(data="x.csv", **given | {"label": ["a", "b"], "labels": ["a=1,2"], "format": "long"})
    assert found == [("x.csv", DataOptions(format="long", label=("a", "b"), declared=("a=1,2",)))]


def test_what_is_not_given_is_not_refused(refuses):
    reasons = {"--format": "{option} is no use to {model}", "--gold-file": "neither is {option}"}
    for given in ({}, {"format": "long"}, {"item": "x"}):
        gather_options(**given).refuse(reasons, "mace")
    with refuses(DataError, "--format is no use to mace"):
        gather_options(format="wide").refuse(reasons, "mace")
    with refuses(DataError, "neither is --gold-file"):
        gather_options(gold_file="gold.csv").refuse(reasons, "mace")
