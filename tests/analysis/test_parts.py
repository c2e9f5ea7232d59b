"""Tables of several dimensions and of counts: what each part holds, against enumeration and by hand."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from bayesanno.analysis.labels import score
from bayesanno.fits.parts import concat_parts, parts_of
from bayesanno.fits.view import view_of
from tests.analysis.made import from_prior
from tests.models import references_model_a as reference
from tests.samples import DIMENSIONS, frequencies_agree

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning"),  # so few draws
    pytest.mark.usefixtures("by_numpy"),
]


def hidden(fit, *dimensions):
    """The fit, with no gold in these dimensions."""
    other = fit.copy()
    constant = fit["constant_data"].to_dataset()
    gold = constant["gold"].where(~constant["dimension"].isin(dimensions), "")
    other["constant_data"] = constant.assign(gold=gold)
    return other


# ------------------------------------------------------------------------------------------------- one view


def test_tables_of_parts_stand_one_below_the_other(multi_fit, mace_fit):
    def sizes(part):
        return pd.DataFrame({"n": [part.data.n_labels, part.data.n_annotations]})

    both = concat_parts(parts_of(view_of(multi_fit)), sizes)
    assert both.to_dict("list") == {"dimension": ["focus", "focus", "polarity", "polarity"], "n": [3, 120, 2, 120]}
    assert concat_parts(parts_of(view_of(mace_fit)), sizes).columns.tolist() == ["n"]


# ------------------------------------------------------------------------------------------------- annotators


def test_annotators_have_diagnostics_for_each_dimension(multi_fit):
    table = ba.annotator_table(multi_fit).set_index(["dimension", "annotator"])
    rows = ba.summary(multi_fit, ["accuracy"]).set_index("parameter")
    for (dimension, annotator), row in table.iterrows():
        own = rows.loc[f"accuracy[{annotator}, {dimension}]"]
        for what in own.index.drop(["mcse_mean", "mcse_sd"]):
            assert row[f"competence_{what}"] == pytest.approx(own[what], rel=1e-12)
    assert table["competence_mean"].nunique() == len(table)
    for dimension, n_labels in (("focus", 3), ("polarity", 2)):
        draws = multi_fit["posterior"]["accuracy"].sel(dimension=dimension)
        expected = ((n_labels * draws - 1) / (n_labels - 1) <= 0.1).mean(("chain", "draw"))
        assert table.loc[dimension, "p_chance"].tolist() == expected.values.tolist()


def test_types_have_the_numbers_of_the_summary(count_fit):
    rows, table = ba.summary(count_fit).set_index("parameter"), ba.type_table(count_fit)
    for parameter in ("weight", "rate"):
        own = rows.loc[[f"{parameter}[type {t}]" for t in (1, 2)]]
        for what in ("mean", "sd", "eti89_lb", "eti89_ub"):
            np.testing.assert_allclose(table[f"{parameter}_{what}"], own[what], rtol=1e-12)


# ------------------------------------------------------------------------------------------------- accuracy


def test_accuracy_is_of_each_dimension_with_gold(multi_fit, several):
    table = ba.coverage_table(multi_fit, [0.5, 1])
    assert table.columns[0] == "dimension"
    assert table["dimension"].tolist() == ["focus", "focus", "polarity", "polarity"]
    labels = ba.label_table(multi_fit)
    found = score(multi_fit)
    assert list(found) == ["accuracy", "accuracy_at_90", "accuracy_at_75"]
    for name, rows in labels.groupby("dimension"):
        ordered = rows.sort_values("entropy", kind="stable")
        known = (ordered["gold"] != "").to_numpy()
        right = (ordered["gold"] == ordered["label"]).to_numpy()
        own = table[table["dimension"] == name]
        assert own["n_items"].tolist() == [20, 40]
        assert own["n_gold"].tolist() == [known[:20].sum(), known.sum()]
        assert own["accuracy"].tolist() == pytest.approx([right[:n].sum() / known[:n].sum() for n in (20, 40)])
        for key, n in (("accuracy", 40), ("accuracy_at_90", 36), ("accuracy_at_75", 30)):
            assert found[key][name] == pytest.approx(right[:n].sum() / known[:n].sum())
    assert table["n_gold"].tolist()[3] == len(several.by_dimension["polarity"].gold) < 40


def test_dimensions_without_gold_are_left_out(refuses, multi_fit):
    half = hidden(multi_fit, "polarity")
    assert ba.coverage_table(half)["dimension"].unique().tolist() == ["focus"]
    assert len(score(half)) == 3
    assert all(list(values) == ["focus"] for values in score(half).values())
    assert score(half)["accuracy"]["focus"] == score(multi_fit)["accuracy"]["focus"]
    none = hidden(multi_fit, "focus", "polarity")
    assert score(none) == {}
    with refuses(FitError, "no gold label is known"):
        ba.coverage_table(none)


# ------------------------------------------------------------------------------------------------- prediction


# item -> per dimension, who gives which label; annotators and labels come in another order than in the fit
NEW = {
    "agreed": {"focus": {"a4": "result", "a2": "result"}, "polarity": {"a4": "-", "a2": "-"}},
    "half": {"focus": {"a2": "other", "a4": "method"}, "polarity": {"a2": "-", "a4": "-"}},
    "other half": {"focus": {"a2": "other", "a4": "method"}, "polarity": {"a2": "+", "a4": "-"}},
    "one": {"focus": {"a4": "result"}, "polarity": {"a2": "+"}},
}


def new_items():
    records = {
        name: [(item, who, label) for item, of in NEW.items() for who, label in of[name].items()] for name in DIMENSIONS
    }
    parts = {
        name: ba.AnnotationData.from_records(records[name], items=list(NEW), labels=labels[::-1])
        for name, labels in DIMENSIONS.items()
    }
    names = parts["focus"].annotators
    assert names == ("a4", "a2")
    order = [parts["polarity"].annotators.index(name) for name in names]
    polarity = parts["polarity"]
    parts["polarity"] = ba.AnnotationData(
        item=polarity.item, annotator=np.argsort(order)[polarity.annotator], label=polarity.label,
        items=polarity.items, annotators=names, labels=polarity.labels,
    )  # fmt: skip
    return ba.MultiAnnotationData(by_dimension=dict(reversed(parts.items())))


def test_new_items_have_the_joint_posterior_of_all_dimensions(multi_fit, several):
    """Against the sum over all correctness patterns, in every draw."""
    table = ba.predict_labels(multi_fit, new_items())
    assert table["dimension"].unique().tolist() == ["focus", "polarity"]  # in the order of the fit
    posterior = multi_fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    omegas = [multi_fit["constant_data"][f"frequency_{name}"].values for name in DIMENSIONS]
    step = 8
    thinned = ba.predict_labels(thin(multi_fit, step), new_items()).set_index(["dimension", "item"])
    for item, of in NEW.items():
        given = [
            [labels.index(of[name][who]) if who in of[name] else None for who in several.annotators]
            for name, labels in DIMENSIONS.items()
        ]
        likelihood, found = zip(
            *(
                reference.cox_item(one["accuracy"].values, omegas, {(0, 1): float(one["correlation"][0])}, given)
                for one in (posterior.isel(sample=sample) for sample in range(0, posterior.sizes["sample"], step))
            ),
            strict=True,
        )  # p(answers in all dimensions) of each draw; per draw and dimension: (state,)
        for (name, labels), states in zip(DIMENSIONS.items(), zip(*found, strict=True), strict=True):
            expected = np.average(states, axis=0, weights=likelihood)
            row = thinned.loc[(name, item)]
            assert row["ess_weights"] == pytest.approx(np.sum(likelihood) ** 2 / np.square(likelihood).sum(), rel=1e-9)
            assert row["p_none"] == pytest.approx(expected[-1], rel=1e-9)
            for label in of[name].values():  # what nobody gave has a share of "none" as well
                assert row[f"p[{label}]"] == pytest.approx(expected[labels.index(label)], rel=1e-9)
    focus = table.set_index(["dimension", "item"]).loc["focus"]
    # the same annotations of focus: what else was given in polarity moves its labels
    assert focus.loc["half", "p_none"] != pytest.approx(focus.loc["other half", "p_none"], rel=1e-3)


def thin(fit, step):
    """Every so many draws of all chains, in their order."""
    other = fit.copy()
    assert fit["posterior"].sizes["draw"] % step == 0
    other["posterior"] = fit["posterior"].to_dataset().isel(draw=slice(None, None, step))
    return other


def test_new_dimensions_must_be_those_of_the_fit(refuses, multi_fit, several):
    parts = several.by_dimension
    swapped = ba.MultiAnnotationData(by_dimension={"focus": parts["focus"], "tone": parts["polarity"]})
    with refuses(DataError, "dimensions of this fit are 'focus', 'polarity', and the new data have 'focus', 'tone'"):
        ba.predict_labels(multi_fit, swapped)
    stranger = {
        name: ba.AnnotationData.from_records([("x", "ann", labels[0]), ("x", "a1", labels[0])], labels=labels)
        for name, labels in DIMENSIONS.items()
    }
    with refuses(DataError, "annotator 'ann' is not among the 4 annotators of this fit"):
        ba.predict_labels(multi_fit, ba.MultiAnnotationData(by_dimension=stranger))
    with refuses(DataError, "is of MultiAnnotationData: predict from MultiAnnotationData, not from CountData"):
        ba.predict_labels(multi_fit, ba.CountData(items=("x",), successes=[1], trials=[2]))


def test_types_of_new_counts_follow_bayes_rule_in_every_draw(count_fit):
    new = ba.CountData(items=("many", "few", "none"), successes=[17, 0, 0], trials=[20, 3, 0])
    table = ba.predict_labels(count_fit, new)
    assert table.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard", "ess_weights"]
    posterior = count_fit["posterior"]
    weight, rate = (posterior[name].values.reshape(-1, 2) for name in ("weight", "rate"))
    for item, x, n in zip(range(3), new.successes, new.trials, strict=True):
        joint = weight * rate**x * (1 - rate) ** (n - x)  # (sample, type)
        expected = joint.sum(axis=0) / joint.sum()
        np.testing.assert_allclose(table.loc[item, ["p[type 1]", "p[type 2]"]].astype(float), expected, rtol=1e-10)
    np.testing.assert_allclose(table.loc[2, "p[type 1]"], weight[:, 0].mean())  # no answers: the weights
    assert table.loc[2, "ess_weights"] == pytest.approx(len(weight))


def test_new_counts_that_the_model_cannot_take_are_refused(refuses, counts):
    model = ba.get_model("gaussian_mixture")
    fit = from_prior(model, counts)
    same = ba.CountData(items=("i1",), successes=[8], trials=[8])  # one item, named as one of the fit's
    assert ba.predict_labels(fit, same)["p[type 2]"].between(0, 1).all()
    with refuses(DataError, r"item 'x' has 5 and item 'i1 \(of the fit\)' has 8"):
        ba.predict_labels(fit, ba.CountData(items=("x",), successes=[3], trials=[5]))


# ------------------------------------------------------------------------------------------------- draws


def test_drawn_labels_follow_the_posterior_of_their_dimension(multi_fit, several, rng):
    seed = int(rng.integers(2**31))
    own = {name: ba.sample_labels(multi_fit, dimension=name, random_seed=seed) for name in DIMENSIONS}
    for name, drawn in own.items():
        assert drawn.dims == ("chain", "draw", "item")
        assert drawn["item"].values.tolist() == list(several.items)
        flat = drawn.values.reshape(-1, several.n_items)
        assert frequencies_agree(flat, multi_fit["latent"][name]["probability"].values)
    focus = own["focus"].values.reshape(-1, several.n_items)
    assert not frequencies_agree(focus, multi_fit["latent"]["polarity"]["probability"].values)
    again = ba.sample_labels(multi_fit, dimension="focus", random_seed=seed)
    np.testing.assert_array_equal(again, own["focus"])


def test_which_labels_are_to_be_drawn_has_to_be_said(refuses, multi_fit, count_fit):
    with refuses(FitError, "cannot be drawn together, .* does not factor: name one of 'focus', 'polarity'"):
        ba.sample_labels(multi_fit)
    with refuses(FitError, "this fit has dimensions focus, polarity, and none 'tone'"):
        ba.sample_labels(multi_fit, dimension="tone")
    with refuses(FitError, "this fit has no dimensions: leave out dimension='focus'"):
        ba.sample_labels(count_fit, dimension="focus")
    with refuses(FitError, "random_seed is -1"):
        ba.sample_labels(count_fit, random_seed=-1)


# ------------------------------------------------------------------------------------------------- figures


def test_a_figure_is_of_one_dimension(refuses, multi_fit):
    table = ba.annotator_table(multi_fit).query("dimension == 'polarity'").sort_values("competence_mean")
    (axes,) = ba.plot_annotators(multi_fit, dimension="polarity").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == table["annotator"].tolist()
    assert axes.get_title(loc="left").startswith("polarity: accuracy of 4 annotators")
    covered = ba.coverage_table(multi_fit).query("dimension == 'polarity'")["accuracy"]
    drawn = ba.plot_coverage(multi_fit, dimension="polarity").axes[0].lines[1].get_ydata()
    np.testing.assert_array_equal(drawn, covered)  # nan where no gold is kept
    with refuses(FitError, "no gold label is known of dimension 'focus'"):
        ba.plot_coverage(hidden(multi_fit, "focus"), dimension="focus")
    with refuses(FitError, "this fit has dimensions .*: name one"):
        ba.plot_annotators(multi_fit)


# ------------------------------------------------------------------------------------------------- noise


# ------------------------------------------------------------------------------------------------- dependence


def test_dependence_is_of_one_dimension(refuses, multi_fit, several):
    for name, answers in several.by_dimension.items():
        shared, known = answers.votes.sum(axis=1) >= 2, answers.gold_codes >= 0
        table = ba.dependence_table(multi_fit, dimension=name)
        assert table.loc[0, ["n_items", "truth"]].tolist() == [(shared & known).sum(), "gold"]
        own = ba.dependence_table(hidden(multi_fit, name), dimension=name)
        assert own.loc[0, ["n_items", "truth"]].tolist() == [shared.sum(), "posterior"]
        assert np.isfinite(own.loc[0, "correlation"])
    assert name in ba.plot_dependence(multi_fit, dimension=name, least_items=5).axes[0].get_title(loc="left")
    with refuses(FitError, "this fit has dimensions .*: name one"):
        ba.dependence_table(multi_fit)
