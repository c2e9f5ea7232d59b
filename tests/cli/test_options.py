"""Options stand once, reach every command that has them, and have the defaults of the library."""

import re
from inspect import signature
from pathlib import Path

import arviz as az
import pandas as pd
import pytest
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


def test_one_option_sets_the_intervals_of_every_command_that_has_some(command, tmp_path):
    given = {
        name for name, each in typer.main.get_group(app).commands.items() if "ci" in {one.name for one in each.params}
    }
    assert given == {"fit", "recalibrate", "modes", "report", "groups", "agreement", "compare", "sensitivity"}
    before = az.rcParams["stats.ci_prob"]
    vb = "--method vb --seed 1 --no-report --ci 0.95"
    assert command("fit", "one_coin", "@crowd", "--out", "run", *vb.split())[0] == 0
    assert "competence_eti95_lb" in pd.read_csv(tmp_path / "run" / "annotators.csv")
    assert command("report", "run", "--no-checks", "--ci", "0.8", "--overwrite")[0] == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "80% interval" in page
    assert "89% interval" not in page
    code, out, _ = command("agreement", "@crowd", "--out", "agreed", "--ci", "0.5", "--no-plots", "--resamples", "50")
    assert (code, "(50% interval " in out) == (0, True)
    assert "kappa_eti50_lb" in pd.read_csv(tmp_path / "agreed" / "gold.csv")
    assert az.rcParams["stats.ci_prob"] == before


@pytest.mark.parametrize(
    ("given", "said"), [("95", "--ci is 95.0: it must be above 0 and below 1; 95% is 0.95"), ("1.5", "--ci is 1.5")]
)
def test_a_percentage_is_refused_in_one_line(command, given, said):
    code, out, err = command("agreement", "@crowd", "--out", "agreed", "--ci", given)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert said in err
