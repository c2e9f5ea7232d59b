"""Runs of every kind, of draws that nobody sampled: the columns of the tables that commands write of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd

import bayesanno as ba
from bayesanno.cli.compare import write_comparison
from bayesanno.cli.files import write_fit
from bayesanno.modeling.registry import list_model_classes
from tests.analysis.made import from_prior
from tests.cli.within import run

ITEMS, PEOPLE = [f"s{n}" for n in range(12)], ["ada", "bo", "cy"]
GOLD = {item: "yes" if n % 3 else "no" for n, item in enumerate(ITEMS)}


def answers(labels=("no", "yes"), **known: Any) -> ba.AnnotationData:
    """Each annotator's answer to each item."""
    said = [
        (item, who, labels[(n + n // 3 * j) % len(labels)])
        for n, item in enumerate(ITEMS)
        for j, who in enumerate(PEOPLE)
    ]
    return ba.AnnotationData.from_records(said, **{"labels": [one for one in labels if one != "unsure"]} | known)


def ratings() -> ba.RatingData:
    """Each annotator's rating of each item, of which one true value is known."""
    rated = [(item, who, float(8 * n + 3 * j)) for n, item in enumerate(ITEMS) for j, who in enumerate(PEOPLE)]
    return ba.RatingData.from_records(rated, scale=(0, 100), gold={"s1": 12.0})


def comparisons(**options: Any) -> ba.AnnotationData:
    """Comparisons of three systems in two categories, each by all judges, in both orders."""
    orders = [("x", "y"), ("y", "z"), ("z", "x")]
    rows = [
        (f"q{n}", "math" if n % 2 else "code", *orders[n % 3][:: 1 if j else -1], who, "ab"[(n + j) % 2])
        for n in range(9)
        for j, who in enumerate(PEOPLE)
    ]
    table = pd.DataFrame(rows, columns=["id", "category", "a", "b", "judge", "winner"])
    return ba.read_annotations(table, pairs="a,b", label="winner", **options)


def data_for(model: type[ba.AnnotationModel]) -> Any:
    """Data of the class that a model takes, with known true labels."""
    if model.data_class is ba.CountData:
        return ba.CountData.from_annotations(answers(), positive="yes")
    if model.data_class is ba.MultiAnnotationData:
        return ba.MultiAnnotationData(by_dimension={"focus": answers(gold=GOLD), "tone": answers()})
    if model.data_class is ba.RatingData:
        return ratings()
    if model.of_grades:
        return answers(("1", "2", "3"), gold={"s1": "2"})
    return answers(gold=GOLD)


def runs() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield fits of every model, and of whatever else adds a column or a table, with the options of what is written."""
    for model in list_model_classes().values():
        entry, data = model(), data_for(model)
        states = {one.kind for one in entry.latents(data)} & {"labels", "types"}
        yield from_prior(entry, data, 20), {"coverage": 0.5} if states else {}
    yield from_prior(ba.models.Rating(slope=True), ratings(), 20), {}
    yield from_prior(ba.models.ModelB(), answers(("no", "yes", "unsure"), unsure="unsure", gold=GOLD), 20), {}
    adjusted = ba.adjust(from_prior(ba.models.ModelB(), answers(gold=GOLD), 20, check=True))
    yield adjusted, {}
    yield ba.recalibrate(adjusted), {}
    tags = [(f"t/{n}", who, "OBI"[n % 3].replace("B", "B-X").replace("I", "I-X")) for n in range(9) for who in PEOPLE]
    yield from_prior(ba.models.OneCoin(), ba.AnnotationData.from_records(tags), 20), {"bio": True}
    pairs = ba.Pairs(first="a", second="b")
    yield from_prior(ba.models.ModelB(class_prior=pairs), comparisons(), 20), {}
    by_category = ba.Pairs(first="a", second="b", by="category") + ba.Columns("category")
    yield from_prior(ba.models.ModelB(class_prior=by_category), comparisons(by="category"), 20), {}


def columns_of(folders: Iterable[Path]) -> dict[str, set[str]]:
    """Return the columns of the tables in some folders, by the names of their files."""
    found: dict[str, set[str]] = {}
    for path in (path for folder in folders for path in folder.glob("*.csv")):
        found.setdefault(path.name, set()).update(pd.read_csv(path).columns)
    return found


def write_fits(folder: Path) -> Iterator[Path]:
    """Write each of these fits as `bayesanno fit` does, and yield its folder."""
    for number, (fit, options) in enumerate(runs()):
        own = folder / str(number)
        own.mkdir()
        write_fit(fit, own, began=0, **options)
        yield own


def write_agreements(folder: Path) -> Iterator[Path]:
    """Run `bayesanno agreement` on tables that have a column for each of its measures, and yield the folders."""
    tables = {"known": answers(gold=GOLD), "orders": comparisons()}
    with mock.patch.object(ba, "fit", lambda model, data, **_: from_prior(ba.get_model(model), data, 20)):
        for name, data in tables.items():
            data.to_frame().to_csv(folder / f"{name}.csv", index=False)
            asked = ["--posterior"] if name == "known" else ["--pairs", "a,b"]
            settings = ["--out", name, "--seed", "1", "--resamples", "5", "--no-plots"]
            code, _, err = run(folder, "agreement", f"{name}.csv", *asked, *settings)
            assert code == 0, err
            yield folder / name


def write_comparisons(folder: Path) -> Iterator[Path]:
    """Write comparisons of models of labels, of counts and of several dimensions, and yield the folders."""
    both = {"model_b": "one_coin", "binomial_mixture": "gaussian_mixture", "model_a_multi": "model_a_multi"}
    for number, names in enumerate(both.items()):
        data = data_for(type(ba.get_model(names[0])))
        fits = {f"{name} {n}": from_prior(ba.get_model(name), data, 30 + 2 * n) for n, name in enumerate(names)}
        own = folder / str(number)
        own.mkdir()
        write_comparison(fits, own, replicates=20, seed=1, began=0)
        yield own
