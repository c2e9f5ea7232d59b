"""Remedies: each can be typed as it stands, on the command line and in Python, where a fit has its finding."""

import functools
import json
import re
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.validate import check_seed
from bayesanno.fits.view import FitView
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.findings import Finding, find, read_remedies, read_rules
from tests.cli.within import run

QUICK = "--draws 100 --tune 100 --chains 2"
FAST = {"draws": 60, "tune": 60, "chains": 1}


def annotate(rng, right, *, n_items=40, per_item=None, shares=(0.5, 0.5)):
    """Answers yes and no by annotators a0, a1, ..., who are right with these probabilities."""
    labels = ("no", "yes")
    rows = []
    for item in range(n_items):
        true = rng.choice(2, p=shares)
        for who in range(len(right)) if per_item is None else rng.choice(len(right), per_item, replace=False):
            said = true if rng.random() < right[who] else 1 - true
            rows.append([f"i{item}", f"a{who}", labels[said], labels[true]])
    return rows


def copy(rng):
    """Three of seven annotators give the same answers, which are often wrong."""
    rows = annotate(rng, [0.9, 0.9, 0.7, 0.7, 0.7, 0.8, 0.8], n_items=150)
    said = {(item, who): label for item, who, label, _ in rows}
    return [[item, who, said[item, "a2" if who in ("a3", "a4") else who], gold] for item, who, _, gold in rows]


def repeat_opposite(rng):
    """The better of two systems, and the same answers again with the systems the other way round."""
    rows = annotate(rng, [0.95, 0.9, 0.9])
    better = [{"no": "s1", "yes": "s2"}, {"no": "s2", "yes": "s1"}]
    return [[item, who, names[label], "", "s1", "s2"] for names in better for item, who, label, _ in rows]


def grade(rng):
    """Words in order, which the alphabet sorts otherwise."""
    words = ["none", "mild", "severe"]
    truth = rng.integers(3, size=30)
    return [[f"i{i}", f"a{who}", words[int(np.clip(t + rng.integers(-1, 2), 0, 2))], ""]
            for i, t in enumerate(truth) for who in range(4)]  # fmt: skip


def rate(rng):
    """Ratings of ten items by four annotators."""
    return [[f"i{item}", f"a{who}", f"{rng.uniform(0, 100):.2f}", ""] for item in range(10) for who in range(4)]


def compare_once(rng):
    """Comparisons of three systems, each by one judge."""
    rows = []
    for item in range(60):
        first, second = rng.choice(3, 2, replace=False)
        winner = min(first, second) if rng.random() < 0.8 else max(first, second)
        rows.append([f"i{item}", f"a{item % 4}", f"s{winner}", "", f"s{first}", f"s{second}"])
    return rows


def count(rng):
    """Counts that one type of item explains."""
    return [[f"i{item}", rng.binomial(10, 0.5), 10] for item in range(50)]


def skewed(rng, *, agree):
    """Nine answers in ten are no; annotators agree on the others, or each has their own."""
    rows = []
    for item in range(100):
        is_yes = item % 10 == 0
        for who in range(5):
            said = is_yes and rng.random() < 0.9 if agree else rng.random() < 0.1
            rows.append([f"i{item}", f"a{who}", "yes" if said else "no", ""])
    return rows


SEVEN = functools.partial(annotate, right=[0.8] * 7)
COIN = functools.partial(annotate, right=[0.9, 0.9, 0.9, 0.9, 0.5], n_items=220)
ALONE = functools.partial(annotate, right=[0.8] * 4, per_item=1)
MIRRORED = functools.partial(annotate, right=[0.85] * 3)

# For each remedy a code that has it, a table, and a fit that has the finding.
CASES = {
    "sample-longer": ("rhat", COIN, f"mace {QUICK}"),
    "several-chains": ("one-chain", SEVEN, "one_coin --draws 100 --tune 100 --chains 1"),
    "more-chains": ("chain-alone", MIRRORED, f"model_a --set accuracy_prior=1:1 {QUICK}"),
    "more-steps": ("em-steps", SEVEN, "one_coin --method em --method-option steps=2"),
    "weigh-modes": ("modes-apart", MIRRORED, f"model_a --set accuracy_prior=1:1 {QUICK}"),
    "recalibrate": ("errors-correlate", copy, f"one_coin --gold gold {QUICK}"),
    "vote": ("vote-is-better", copy, f"one_coin --gold gold {QUICK}"),
    "compare": ("items-differ", copy, f"one_coin --gold gold {QUICK}"),
    "adjust": ("labels-overconfident", copy, f"one_coin --gold gold --no-adjust {QUICK}"),
    "both-class-priors": ("class-or-habit", functools.partial(skewed, agree=False), "mace --method em"),
    "rates-from-elsewhere": ("mixed-rates", count, f"diligent_lazy {QUICK}"),
    "known-labels": ("design-one-answer", ALONE, "one_coin --method em"),
    "without": ("spammer", COIN, f"mace {QUICK}"),
    "without-others": ("copies", copy, f"one_coin --gold gold {QUICK}"),
    "judges-err": ("winners-true", compare_once, f"one_coin --pairs a,b {QUICK}"),
    "learn-classes": ("class-not-habit", functools.partial(skewed, agree=True),
                      "mace --set class_prior=uniform --method em"),
    "name-pairs": ("orders-not-turned", repeat_opposite, "one_coin --label label --method em"),
    "even-weights": ("type-not-needed", count, f"binomial_mixture --set types=3 {QUICK}"),
    "wider-confusions": ("steep-prior", SEVEN, "model_b --set confusion_strength=0.3 --method em"),
}  # fmt: skip
# What takes long, or is rarely found in a small table: the finding as it would be.
BY_HAND = {
    "smaller-steps": (find("divergences", value=3, n="3 transitions"), SEVEN, "one_coin"),
    "by-nuts": (find("pareto-k", value=1.2), SEVEN, "one_coin --method advi"),
    "enough-draws": (find("pareto-k-unknown"), SEVEN, "one_coin --method advi"),
    "another-seed": (find("search-incomplete", value=4, n_starts="21"), SEVEN, "one_coin"),
    "fewer-draws": (find("no-log-likelihood", value=6.0, n_items="9", n_draws="9", fewer=50), copy,
                    f"one_coin --gold gold {QUICK}"),
    "more-starts": (find("em-one-best", value=1, restarts=2, lower=2.0, more=8), SEVEN, "one_coin --method em"),
    "narrower-prior": (find("bfmi", value=0.2), SEVEN, "one_coin --method em"),
    "drop-chains": (find("mode-light", value=0.001, chains="Chain 1 is", items="9 items", numbers=(1,)), MIRRORED,
                    f"model_a --set accuracy_prior=1:1 {QUICK}"),
    "declare-order": (find("order-undeclared", ["mild", "none", "severe"]), grade, "ordinal_dawid_skene"),
    "form-of-chance": (find("difficulty-wrong-majority", form="2pl"), SEVEN, "item_difficulty --set form=2pl"),
    "censor": (find("ratings-at-ends", value=0.001, where=""), rate, "rating --scale 0:100"),
    "allow-outliers": (find("ratings-outliers", value=0.001, where=""), rate, "rating --scale 0:100"),
    "learn-slopes": (find("ratings-slopes", value=0.001, where=""), rate, "rating --scale 0:100"),
    "learn-ambiguity": (find("ratings-ambiguous", value=0.001, where=""), rate, "rating --scale 0:100"),
}  # fmt: skip
HEADS = {
    3: ("item", "successes", "trials"),
    4: ("item", "annotator", "label", "gold"),
    6: ("item", "annotator", "label", "gold", "a", "b"),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A function that returns a folder with a table, and known labels of some of its items."""

    @functools.cache
    def write(make):
        folder = tmp_path_factory.mktemp("remedy")
        rows = make(np.random.default_rng(1))
        table = pd.DataFrame(rows, columns=list(HEADS[len(rows[0])]))
        table.to_csv(folder / "answers.csv", index=False)
        if "gold" in table:
            known = (
                table.assign(gold=table["gold"].replace("", table["label"].iloc[0])).drop_duplicates("item").head(30)
            )
            known[["item", "gold"]].to_csv(folder / "gold.csv", index=False)
            known[["item", "gold"]].rename(columns={"gold": "label"}).to_csv(folder / "known.csv", index=False)
        return folder

    return write


@pytest.fixture(scope="module")
def fitted(tables):
    """A function that fits a table once; it returns the names of the folder and of the fit, and the findings."""

    @functools.cache
    def fit(make, options):
        folder, name = tables(make), f"run{abs(hash(options))}"
        code, _, err = run(folder, *fit_command(options), "--out", name)
        assert code == 0, err
        found = json.loads((folder / name / "run.json").read_text())["findings"]
        return folder, name, {one["code"]: Finding.from_record(one) for one in found}

    return fit


def fit_command(options):
    model, *others = shlex.split(options)
    return ["fit", model, "answers.csv", *others, "--no-report", "--seed", "1"]


@dataclass(frozen=True)
class Case:
    """A table, the options of its fit, and what to type."""

    folder: Path
    run: str
    options: str
    of: str
    command: str
    python: str


@pytest.fixture
def remedied(name, tables, fitted):
    first, make, options = CASES[name] if name in CASES else BY_HAND[name]
    remedy = read_remedies()[name]
    folder, made, found = tables(make), "", {}
    if name in CASES or remedy.of == "call":
        folder, made, found = fitted(make, options)
    one = first if isinstance(first, Finding) else found[first]
    rule = read_rules()[one.code]
    assert rule.do == name
    before, _, after = (
        (rule.remedy or remedy.say).format(how="|", about=", ".join(one.about), threshold=one.threshold).partition("|")
    )
    command, python = (said.removeprefix(before).removesuffix(after) for said in (one.command, one.remedy))
    return Case(folder, made, options, remedy.of, command, python.removesuffix(" where data are read"))


class FitStartedError(Exception):
    """A fit would start now: everything that was typed is right."""


@pytest.mark.parametrize("name", [*CASES, *BY_HAND])
def test_a_remedy_can_be_typed_on_the_command_line(remedied, monkeypatch):
    if "labels.csv" in remedied.command:
        assert remedied.command == "the column vote of labels.csv"
        assert pd.read_csv(remedied.folder / remedied.run / "labels.csv")["vote"].isin(["yes", "no"]).all()
        return
    meant = {"DIR": remedied.run, "NEW": f"new-{remedied.run}-{abs(hash(remedied.command))}", "DATA": "answers.csv",
             "OTHER": "pooled_dawid_skene", "MODEL": remedied.options.split()[0]}  # fmt: skip
    typed = re.sub(r"\b[A-Z]{3,}\b", lambda word: meant[word[0]], remedied.command.removeprefix("keep fewer draws: "))
    command = shlex.split(typed)
    if command[0] == "bayesanno":
        quickly = ["--draws", "60", "--tune", "60", "--chains", "1"] if "answers.csv" in command else []
        quickly += ["--workers", "1"] if "sensitivity" in command else []
        code, _, err = run(remedied.folder, *command[1:], *quickly)
        assert code == 0, err
        return

    def start(*_, method="nuts", method_options=None, **given):
        settings = {name: given[name] for name in ("draws", "tune", "chains", "target_accept") if name in given}
        choose_method(method, method_options, **settings)
        raise FitStartedError

    monkeypatch.setattr(ba, "fit", start)
    before = remedied.options
    for name in re.findall(r"(?:--set|--method-option) (\w+)=", typed):  # a value takes the place of the former one
        before = re.sub(rf"(--set|--method-option) {name}=\S+", "", before)
    with pytest.raises(FitStartedError):
        run(remedied.folder, *fit_command(before), *command, "--out", "new")


@pytest.mark.parametrize("name", [*CASES, *BY_HAND])
def test_a_remedy_can_be_typed_in_python(remedied, monkeypatch):
    monkeypatch.chdir(remedied.folder)
    model, data = remedied.options.split()[0], pd.read_csv("answers.csv")
    names = {"bayesanno": ba, "Pairs": functools.partial(ba.Pairs, first="a", second="b"), "model": model}
    with warnings.catch_warnings(action="ignore"):
        if remedied.of == "call":
            fit = ba.load(remedied.run)
            names |= {"fit": fit, "data": FitView(fit).data, "other": fit}
            if "compare" in remedied.python:
                names["other"] = ba.fit("pooled_dawid_skene", names["data"], random_seed=1, progressbar=False, **FAST)
            eval(remedied.python.removeprefix("add it: "), names)
        elif remedied.python.startswith("Pairs"):
            assert eval(remedied.python, names).judges_err
        else:
            given = eval(f"dict({remedied.python})", names)
            if remedied.of == "read":
                ba.read_annotations(data, **given)
            elif remedied.of == "field":
                ba.get_model(model, given)
            else:
                check_seed(given.pop("random_seed", 1))
                method = "em" if "--method em" in remedied.options else "nuts"
                choose_method(given.pop("method", method), **given)


def test_the_command_line_prints_remedies_with_what_was_typed(tables):
    folder = tables(copy)
    code, _, err = run(folder, *fit_command(f"one_coin --gold gold {QUICK}"), "--out", "typed run")
    assert code == 0
    found = [line for line in err.splitlines() if line.startswith(("stop: ", "care: ", "note: "))]
    assert len(found) == 4  # five lines of findings at most, of which the last counts the others
    assert "more findings: see typed run/run.json" in err
    assert any("bayesanno recalibrate 'typed run' --gold gold.csv --out NEW" in line for line in found)
    make, options = CASES["both-class-priors"][1:]
    code, _, err = run(tables(make), *fit_command(f"{options} --missing nothing"), "--out", "other")
    assert code == 0
    grid = "--grid class_prior=learnt,uniform --out NEW"
    assert f"bayesanno sensitivity mace answers.csv --missing nothing {grid}" in err


def test_each_remedy_has_a_case():
    assert {*CASES, *BY_HAND} == set(read_remedies())
