"""Recalibrated fits: what follows from the labels, what known labels are judged by, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import FitError, PredictionWarning
from bayesanno.analysis.labels import score
from bayesanno.fits.view import part_of, view_of

COPIES = 5


@pytest.fixture(scope="module")
def dependent():
    """Answers by annotators each of whom has four followers, who say what they say: errors are far from independent."""
    rng = np.random.default_rng(3)
    truth = {f"i{number}": "no" if rng.random() < 0.6 else "yes" for number in range(300)}
    records = []
    for item, label in truth.items():
        for leader in rng.choice(8, 3, replace=False):
            said = label if rng.random() < 0.75 else {"no": "yes", "yes": "no"}[label]
            records += [(item, f"{leader}, {copy}", said) for copy in range(COPIES)]
    return ba.AnnotationData.from_records(records, gold=truth)


@pytest.fixture(scope="module")
def fitted(dependent):
    bare = replace(dependent, gold={})
    settings = {"method": "em", "method_options": {"objective": "map"}, "random_seed": 1, "progressbar": False}
    return ba.fit("model_b", bare, check=False, **settings)


@pytest.fixture(scope="module")
def known(dependent):
    """The true labels of 60 of the items, of no order."""
    order = np.random.default_rng(1).permutation(list(dependent.gold)).tolist()
    return {item: dependent.gold[item] for item in order[:60]}


@pytest.fixture(scope="module")
def honest(fitted, known):
    return ba.recalibrate(fitted, known)


def log_score(fit, gold):
    logs = part_of(view_of(fit), None).probabilities["log_probability"].to_pandas()
    return np.mean([logs.at[item, label] for item, label in gold.items()])


def about(fit):
    return json.loads(fit.attrs["recalibration"])[""]


def test_labels_of_annotators_who_err_together_become_honest(fitted, honest, dependent, known):
    table = ba.recalibration_table(honest).set_index("parameter")
    assert table.index.tolist() == ["temperature", *(f"shift[{label}]" for label in dependent.labels)]
    assert table.columns.tolist() == ["mean", "sd", "eti89_lb", "eti89_ub"]
    assert table.loc["temperature", "eti89_lb"] > 1.5
    others = {item: label for item, label in dependent.gold.items() if item not in known}
    assert log_score(honest, others) > log_score(fitted, others) + 0.1
    labels = ba.label_table(honest).set_index("item").loc[list(others)]
    wrong, said = labels["label"] != pd.Series(others), 1 - labels["probability"]
    error = np.sqrt((said * (1 - said)).mean() * (1 / 60 + 1 / len(others)))
    assert abs(wrong.mean() - said.mean()) < 3 * error
    before = ba.label_table(fitted).set_index("item").loc[list(others)]
    assert (before["label"] != pd.Series(others)).mean() - (1 - before["probability"]).mean() > 3 * error


def test_the_original_and_what_was_done_stay_with_the_fit(fitted, honest, known, tmp_path):
    assert set(honest.children) - set(fitted.children) == {"labels", "recalibration"}
    xr.testing.assert_identical(honest["latent"].to_dataset(), fitted["latent"].to_dataset())
    xr.testing.assert_identical(honest["posterior"].to_dataset(), fitted["posterior"].to_dataset())
    assert ba.data_of(honest).gold == known
    assert ba.data_of(honest).hash == ba.data_of(fitted).hash
    found, table = about(honest), ba.recalibration_table(honest).set_index("parameter")
    assert found["items"] == [item for item in ba.data_of(fitted).items if item in known]
    assert found["temperature"] == pytest.approx(table.loc["temperature"].to_dict())
    assert found["log_score"] == pytest.approx(log_score(honest, known))
    assert found["log_score_before"] == pytest.approx(log_score(fitted, known))
    assert found["log_score"] > max(found["log_score_before"], found["log_score_shares"])
    ba.save(honest, tmp_path / "posterior.nc")
    xr.testing.assert_identical(ba.load(tmp_path), honest)
    scores = ba.calibration_scores(honest, resamples=0).set_index("score")["value"]
    assert scores["log_score"] == pytest.approx(found["log_score"])


def test_no_known_item_is_judged_by_its_own_label(fitted, known, honest):
    """Another label makes no difference to the item itself, and does to all others."""
    item = next(iter(known))
    other = next(label for label in ba.data_of(fitted).labels if label != known[item])
    changed = ba.recalibrate(fitted, known | {item: other})
    own, theirs = (one["labels"]["probability"].sel(item=item).values for one in (honest, changed))
    np.testing.assert_allclose(own, theirs, atol=0.01)
    away = np.abs(honest["labels"]["probability"] - changed["labels"]["probability"]).max("true_class")
    assert (away.drop_sel(item=item) > 1e-6).mean() > 0.9
    assert float(away.max()) > 0.02


def test_recalibration_by_the_same_labels_is_repeatable(fitted, honest, known, tmp_path):
    xr.testing.assert_identical(ba.recalibrate(fitted, known), honest)
    again = ba.recalibrate(honest)  # by the gold that it has now: the same labels
    xr.testing.assert_identical(again["latent"].to_dataset(), fitted["latent"].to_dataset())
    xr.testing.assert_identical(again["labels"].to_dataset(), honest["labels"].to_dataset())
    pd.Series(known, name="gold").rename_axis("item").to_csv(tmp_path / "gold.csv")
    for gold in (pd.Series(known), pd.read_csv(tmp_path / "gold.csv", dtype=str), tmp_path / "gold.csv"):
        xr.testing.assert_identical(ba.recalibrate(fitted, gold), honest)


def test_a_fit_that_an_earlier_version_recalibrated_is_refused(honest, refuses):
    old = honest.copy()
    old["latent_before"] = old["latent"].copy()
    with refuses(FitError, "an older version of bayesanno recalibrated this fit"):
        ba.label_table(old)


def test_tables_and_decisions_are_of_the_recalibrated_labels(honest, fitted, refuses):
    p = honest["labels"]["probability"].values
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(honest["labels"]["log_probability"]), p, rtol=1e-9)
    table, labels = ba.label_table(honest), ba.data_of(honest).labels
    np.testing.assert_array_equal(table[[f"p[{label}]" for label in labels]], p)
    cost = {truth: {said: float(said != truth) for said in labels} for truth in labels}
    np.testing.assert_allclose(ba.decide_labels(honest, cost)["expected_cost"], 1 - p.max(axis=1), atol=1e-12)
    assert score(honest)["accuracy"] == ba.coverage_table(honest, [1])["accuracy"].item()
    assert ba.calibration_scores(honest, resamples=0)["n"].tolist() == [60] * 4
    with refuses(FitError, "is one point"):
        ba.compare({"before": fitted, "after": honest})


def test_new_items_are_recalibrated_as_those_of_the_fit(honest, known):
    """Of a point there is nothing that an item's answers could say of the parameters."""
    new = ba.predict_labels(honest, ba.data_of(honest)).set_index("item")
    own = ba.label_table(honest).set_index("item")
    others = [item for item in own.index if item not in known]
    np.testing.assert_allclose(new.loc[others, "probability"], own.loc[others, "probability"], rtol=1e-9)


def test_labels_are_drawn_from_the_recalibrated_posterior(tiny_fit):
    with pytest.warns(PredictionWarning, match="^recalibration-worse: True labels show no need"):
        done = ba.recalibrate(tiny_fit)
    assert about(done)["log_score"] < about(done)["log_score_before"]
    drawn = ba.sample_labels(done, random_seed=1)
    assert drawn.dims == ("chain", "draw", "item")
    assert dict(drawn.sizes) == {"chain": 4, "draw": 1000, "item": 6}
    p = done["labels"]["probability"].sel(true_class="yes").values
    np.testing.assert_allclose(drawn.mean(("chain", "draw")), p, atol=4 * 0.5 / np.sqrt(1000))  # of 1000 temperatures
    table = ba.compare({"before": tiny_fit, "after": done})
    assert table.set_index("name").loc["after", "log_score"] == pytest.approx(about(done)["log_score"])


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of what isel left out
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.PredictionWarning")
def test_some_of_a_fits_draws_have_the_recalibration_of_all(tiny_fit):
    done = ba.recalibrate(tiny_fit)
    for some in ({"chain": [1, 3]}, {"draw": slice(None, None, 10)}):
        fewer = done.isel(some)
        for table in (ba.recalibration_table, ba.label_table):
            pd.testing.assert_frame_equal(table(fewer), table(done))
        assert ba.sample_labels(fewer, random_seed=1).sizes["chain"] == len(some.get("chain", range(4)))


def em(data):
    settings = {"method": "em", "method_options": {"objective": "map", "restarts": 1}, "progressbar": False}
    return ba.fit("model_b", data, random_seed=1, check=False, **settings)


@pytest.fixture(scope="module")
def odd():
    """A fit of two labels: a rare class, an item that nobody answered, an annotator of one answer."""
    rng = np.random.default_rng(5)
    truth = {f"i{n}": "rare" if n % 25 == 0 else "usual" for n in range(200)}
    names = ("usual", "rare")
    records = [
        (item, f"a{who}", label if rng.random() < 0.9 else names[label == "usual"])
        for item, label in truth.items()
        for who in rng.choice(6, 4, replace=False)
    ]
    records.append(("i1", "once", "usual"))
    items = (*truth, "nobody answered")
    return em(ba.AnnotationData.from_records(records, items=items, labels=names)), truth


def test_a_rare_class_keeps_its_rarity(odd):
    fit, truth = odd
    some = {item: truth[item] for item in list(truth)[:50]}
    with pytest.warns(PredictionWarning, match="^recalibration-worse: "):  # and the other items agree
        done = ba.recalibrate(fit, some)
    others = {item: label for item, label in truth.items() if item not in some}
    assert log_score(fit, others) > log_score(done, others) > log_score(fit, others) - 0.03
    assert log_score(done, others) > np.log([0.04, 0.96]) @ [0.04, 0.96]
    nobody = done["labels"]["probability"].sel(item="nobody answered")
    assert 0.85 < float(nobody.sel(true_class="usual")) < 0.99


@pytest.mark.parametrize("kind", ["nothing", "wrong"])
def test_labels_that_carry_nothing_become_their_frequencies_and_say_so(fitted, dependent, rng, kind):
    """True labels that have nothing to do with the answers; or are what nobody thinks."""
    best = ba.label_table(fitted).set_index("item")["label"]
    names = dependent.labels
    turned = {item: names[(names.index(label) + 1) % len(names)] for item, label in best.items()}
    truth = {item: str(rng.choice(names)) for item in best.index} if kind == "nothing" else turned
    some = dict(list(truth.items())[:100])
    with pytest.warns(PredictionWarning, match="^labels-carry-nothing: "):
        done = ba.recalibrate(fitted, some)
    others = {item: label for item, label in truth.items() if item not in some}
    frequency = pd.Series(others).value_counts(normalize=True)
    assert log_score(done, others) > (frequency * np.log(frequency)).sum() - 0.1
    assert log_score(fitted, others) < -2


def test_controls_stay_what_they_are_and_teach_nothing(dependent, known):
    controls = dict(list(dependent.gold.items())[:30])
    bare = replace(dependent, gold={}, controls=controls)
    fit = em(bare)
    both = ba.recalibrate(fit, known | controls)
    alone = ba.recalibrate(fit, {item: label for item, label in known.items() if item not in controls})
    np.testing.assert_allclose(both["labels"]["probability"], alone["labels"]["probability"], atol=1e-3)
    for item, label in controls.items():
        assert float(both["labels"]["probability"].sel(item=item, true_class=label)) == 1
    with pytest.raises(FitError, match="apart from controls"):
        ba.recalibrate(fit, controls)


def test_a_fit_on_dask_has_no_items(fitted, refuses):
    elsewhere = fitted.copy()
    elsewhere["e_step"] = xr.DataTree(fitted["posterior"].to_dataset())
    del elsewhere["latent"], elsewhere["observed_data"]
    with refuses(FitError, "was made on Dask and holds no items to recalibrate"):
        ba.recalibrate(elsewhere, {"i1": "yes"})
