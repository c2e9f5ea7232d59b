"""Commands on a fit: `next`, `groups`, `export`, `recalibrate` and `report` do what the library does, with files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.files import show_table
from tests.cli.conftest import BY_EM

RECALIBRATED = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "recalibration.csv", "run.json"]
LOSS = {"billing": 5, "delivery": 0, "other": 1, "quality": 1}  # of keeping an item


@pytest.fixture(scope="module")
def fit(with_fit):
    return ba.load(with_fit / "run")


@pytest.fixture(scope="module", autouse=True)
def tables(with_fit):
    """Tables beside the fit: its items in two systems, their texts, who can be asked, costs, and true labels."""
    data = ba.read_annotations(with_fit / "crowd.csv")
    system = ["old" if number % 3 else "new" for number in range(data.n_items)]
    by = pd.DataFrame({"item": list(data.items), "system": system})
    by.to_csv(with_fit / "by.csv", index=False)
    by.assign(group=system, other="x").to_csv(with_fit / "wide.csv", index=False)
    by.assign(other="x").to_csv(with_fit / "unnamed.csv", index=False)
    by[:3].to_csv(with_fit / "few.csv", index=False)
    texts = pd.DataFrame({"item": data.items[:58], "text": [f"„{item}“, weiß" for item in data.items[:58]]})
    texts.to_csv(with_fit / "texts.csv", index=False)
    (with_fit / "who.csv").write_text("annotator,answers,cost\nviktor,5,1\nyuki,50,2.5\n")
    costs = "".join(f"{label},{cost},1\n" for label, cost in LOSS.items())
    (with_fit / "loss.csv").write_text(f"label,keep,ask\n{costs}")
    gold = "".join(f"{item},{label}\n" for item, label in list(data.gold.items())[:40])
    (with_fit / "gold.csv").write_text(f"item,gold\n{gold}nowhere,billing\n")


def read(path):
    return pd.read_csv(path, dtype={"item": str}, keep_default_na=False)


def test_who_can_be_asked_is_read_from_a_file(at, with_fit):
    code, out, err = at("next run --batch 30 --annotators who.csv --out ask.csv --seed 1")
    assert (code, out.splitlines()[-1]) == (0, "ask.csv")
    assert "30 answers of 2 annotators to " in out
    assert "this fit is one point" in err
    table = read(with_fit / "ask.csv")
    assert (table["label"] == "").all()  # to fill in
    assert table["annotator"].value_counts().to_dict() == {"yuki": 25, "viktor": 5}
    cost = table["annotator"].map({"viktor": 1, "yuki": 2.5})
    np.testing.assert_allclose(table["gain"] / table["gain_per_cost"], cost)


@pytest.mark.filterwarnings("ignore::bayesanno.errors.PredictionWarning")
@pytest.mark.filterwarnings("ignore::bayesanno.errors.MisfitWarning")
def test_costs_and_items_to_ask_about_are_read_from_files(at, with_fit, fit):
    code, out, _ = at("next run --batch 9 --loss loss.csv --items few.csv --out costs.csv")
    assert code == 0
    assert out.splitlines()[-2].endswith(" in cost")
    loss = {label: {"keep": cost, "ask": 1} for label, cost in LOSS.items()}
    items = ["ticket001", "ticket002", "ticket003"]
    expected = ba.suggest_annotations(fit, 9, utility=loss, items=items)
    written = read(with_fit / "costs.csv").drop(columns="label")
    pd.testing.assert_frame_equal(written, expected, rtol=1e-5, check_dtype=False)


def test_an_expert_is_asked_for_true_labels(at, with_fit):
    code, out, _ = at("next run --batch 5 --target gold --out true.csv")
    assert code == 0
    assert "true labels of 5 items\n" in out
    assert list(read(with_fit / "true.csv"))[:3] == ["item", "label", "gain"]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("wide.csv --ignore-gold --at-large", {"use_gold": False, "at_large": True}),
        ("unnamed.csv --group system --ci 0.8 --differences", {"ci_prob": 0.8, "differences": True}),
        ("by.csv --order quality,other,delivery,billing", {"order": ["quality", "other", "delivery", "billing"]}),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesanno.errors.PredictionWarning")
def test_groups_are_printed_and_written_as_the_library_has_them(at, with_fit, fit, options, settings):
    code, out, err = at(f"groups run --by {options} --seed 1 --out groups.csv --overwrite")
    assert code == 0
    assert "warning: this fit by em is one point" in err
    table = read(with_fit / "by.csv").set_index("item")["system"]
    expected = ba.group_table(fit, table, random_seed=1, **settings)
    assert out == f"{show_table(expected)}\ngroups.csv\n"
    pd.testing.assert_frame_equal(read(with_fit / "groups.csv"), expected, check_dtype=False)


def test_an_export_is_the_library_s_and_says_how_much(at, with_fit, fit):
    names = "--to label-studio --question topic --to-name text --model-version we"
    code, out, err = at(f"export run {names} --tasks texts.csv --min-probability 0.9 --out labels.json")
    assert (code, err) == (0, "")
    written = ba.export_labels(
        fit, with_fit / "other.json", to="label-studio", question="topic", to_name="text",
        tasks=with_fit / "texts.csv", min_probability=0.9, agent="we",
    )  # fmt: skip
    assert (with_fit / "labels.json").read_bytes() == (with_fit / "other.json").read_bytes()
    first = json.loads((with_fit / "labels.json").read_text(encoding="utf-8"))[0]
    assert first["data"] == {"item": "ticket001", "text": "„ticket001“, weiß"}
    assert out.splitlines() == [
        f"{written.n_items} labels for label-studio, of which {written.n_known} are known to be true (--ignore-gold)",
        *([f"left out: {written.n_unsure} labels less probable than 0.9"] if written.n_unsure else []),
        "left out: 2 labels of items that texts.csv does not have",
        "labels.json",
    ]


def test_a_fit_is_recalibrated_at_once_or_afterwards(at, with_fit):
    code, out, err = at(f"fit one_coin crowd.csv --out at_once {BY_EM} --recalibrate gold.csv")
    assert code == 0
    assert "from 40 true labels; their log score was -" in out
    assert err.count("1 of 41 known labels are left out") == 1
    assert at("recalibrate run --gold gold.csv --out after --no-report")[0] == 0
    for name in ("at_once", "after"):
        assert sorted(path.name for path in (with_fit / name).iterdir()) == sorted(RECALIBRATED)
    for file in ("labels.csv", "recalibration.csv", "summary.csv"):
        assert (with_fit / "at_once" / file).read_text() == (with_fit / "after" / file).read_text()
    assert (with_fit / "run" / "labels.csv").read_text() != (with_fit / "after" / "labels.csv").read_text()
    described = json.loads((with_fit / "after" / "run.json").read_text())
    assert (described["files"], described["recalibration"]["n_known"]) == (RECALIBRATED, 40)


def test_by_default_a_fit_is_recalibrated_by_its_own_gold(at, with_fit):
    code, out, _ = at("recalibrate run --out by_all --coverage 0.9")
    assert code == 0
    assert out.endswith("by_all/report.html\n")
    page = (with_fit / "by_all" / "report.html").read_text(encoding="utf-8")
    assert "estimated from the true labels of 60 items" in page
    assert pd.read_csv(with_fit / "by_all" / "labels.csv")["kept"].sum() == 54


def test_the_page_goes_beside_the_fit_or_where_it_is_asked_for(at, with_fit, monkeypatch):
    asked = []
    monkeypatch.setattr(ba, "write_report", lambda fit, path, **more: asked.append((fit.attrs["model"], path, more)))
    (with_fit / "run" / "report.html").write_text("an old one")
    assert at("report run") == (0, "run/report.html\n", "")
    assert at("report run --no-checks --seed 3 --out page.html") == (0, "page.html\n", "")
    assert asked == [
        ("one_coin", Path("run/report.html"), {"checks": True, "random_seed": None}),
        ("one_coin", Path("page.html"), {"checks": False, "random_seed": 3}),
    ]
