"""Tables of several dimensions and of counts: what each part holds, against enumeration and by hand."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.analysis.labels import score
from tests.analysis.made import from_prior
from tests.models import references_model_a as reference
from tests.samples import DIMENSIONS, frequencies_agree

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),  # so few draws
    pytest.mark.usefixtures("by_numpy"),
]


def hidden(fit, *dimensions):
    """The fit, with no gold in these dimensions."""
    other = fit.copy()
    constant = fit["constant_data"].to_dataset()
    gold = constant["gold"].where(~constant["dimension"].isin(dimensions), "")
    other["constant_data"] = constant.assign(gold=gold)
    return other


def test_annotators_have_the_numbers_of_each_dimension(multi_fit):
    table = ba.annotator_table(multi_fit).set_index(["dimension", "annotator"])
    rows = ba.summary(multi_fit, ["accuracy"]).set_index("parameter")
    for dimension, annotator in table.index:
        own, row = rows.loc[f"accuracy[{annotator}, {dimension}]"], table.loc[(dimension, annotator)]
        for what in ("mean", "eti89_ub", "r_hat"):
            assert row[f"competence_{what}"] == pytest.approx(own[what], rel=1e-12)
    for dimension, n_labels in (("focus", 3), ("polarity", 2)):
        draws = multi_fit["posterior"]["accuracy"].sel(dimension=dimension)
        expected = ((n_labels * draws - 1) / (n_labels - 1) <= 0.1).mean(("chain", "draw"))
        assert table.loc[dimension, "p_chance"].tolist() == expected.values.tolist()


def test_accuracy_is_of_each_dimension_with_gold(multi_fit):
    table = ba.coverage_table(multi_fit, [0.5, 1])
    assert table["dimension"].tolist() == ["focus", "focus", "polarity", "polarity"]
    found = score(multi_fit)
    for name, rows in ba.label_table(multi_fit).groupby("dimension"):
        ordered = rows.sort_values("entropy", kind="stable")
        known = (ordered["gold"] != "").to_numpy()
        right = (ordered["gold"] == ordered["label"]).to_numpy()
        own = table[table["dimension"] == name]
        assert own["n_gold"].tolist() == [known[:20].sum(), known.sum()]
        assert own["accuracy"].tolist() == pytest.approx([right[:n].sum() / known[:n].sum() for n in (20, 40)])
        for key, n in (("accuracy", 40), ("accuracy_at_90", 36), ("accuracy_at_75", 30)):
            assert found[key][name] == pytest.approx(right[:n].sum() / known[:n].sum())
    half, none = hidden(multi_fit, "polarity"), hidden(multi_fit, "focus", "polarity")
    assert ba.coverage_table(half)["dimension"].unique().tolist() == ["focus"]
    assert score(half) == {key: {"focus": values["focus"]} for key, values in found.items()}
    assert score(none) == {}


# item -> per dimension, who gives which label; annotators and labels come in another order than in the fit
NEW = {
    "agreed": {"focus": {"a4": "result", "a2": "result"}, "polarity": {"a4": "-", "a2": "-"}},
    "half": {"focus": {"a2": "other", "a4": "method"}, "polarity": {"a2": "-", "a4": "-"}},
    "other half": {"focus": {"a2": "other", "a4": "method"}, "polarity": {"a2": "+", "a4": "-"}},
    "one": {"focus": {"a4": "result"}, "polarity": {"a2": "+"}},
}


def new_items():
    """Annotators and labels are in another order than in the fit."""
    parts = {}
    for name, labels in reversed(DIMENSIONS.items()):
        cells = [(at, ["a4", "a2"].index(who), labels[::-1].index(label))
                 for at, of in enumerate(NEW.values()) for who, label in of[name].items()]  # fmt: skip
        item, annotator, label = np.transpose(cells)
        names = {"items": tuple(NEW), "annotators": ("a4", "a2"), "labels": labels[::-1]}
        parts[name] = ba.AnnotationData(item=item, annotator=annotator, label=label, **names)
    return ba.MultiAnnotationData(by_dimension=parts)


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
    with refuses(DataError, "the new data have 'focus', 'tone'"):
        ba.predict_labels(multi_fit, swapped)
    with refuses(DataError, "predict from MultiAnnotationData, not from CountData"):
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
    fit = from_prior(ba.get_model("gaussian_mixture"), counts)
    same = ba.CountData(items=("i1",), successes=[8], trials=[8])  # one item, named as one of the fit's
    assert ba.predict_labels(fit, same)["p[type 2]"].between(0, 1).all()
    with refuses(DataError, r"item 'x' has 5 and item 'i1 \(of the fit\)' has 8"):
        ba.predict_labels(fit, ba.CountData(items=("x",), successes=[3], trials=[5]))


def test_drawn_labels_follow_the_posterior_of_their_dimension(multi_fit, rng):
    seed = int(rng.integers(2**31))
    drawn = {name: ba.sample_labels(multi_fit, dimension=name, random_seed=seed) for name in DIMENSIONS}
    for name, own in drawn.items():
        assert own.dims == ("chain", "draw", "item")
        assert frequencies_agree(own.values.reshape(-1, 40), multi_fit["latent"][name]["probability"].values)
    again = ba.sample_labels(multi_fit, dimension="focus", random_seed=seed)
    np.testing.assert_array_equal(again, drawn["focus"])


def test_a_figure_is_of_one_dimension(multi_fit):
    table = ba.annotator_table(multi_fit).query("dimension == 'polarity'").sort_values("competence_mean")
    (axes,) = ba.plot_annotators(multi_fit, dimension="polarity").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == table["annotator"].tolist()
    covered = ba.coverage_table(multi_fit).query("dimension == 'polarity'")["accuracy"]
    drawn = ba.plot_coverage(multi_fit, dimension="polarity").axes[0].lines[1].get_ydata()
    np.testing.assert_array_equal(drawn, covered)  # nan where no gold is kept


def test_dependence_is_of_one_dimension(multi_fit, several):
    for name, answers in several.by_dimension.items():
        shared, known = answers.votes.sum(axis=1) >= 2, answers.gold_codes >= 0
        table = ba.dependence_table(multi_fit, dimension=name)
        assert table.loc[0, ["n_items", "truth"]].tolist() == [(shared & known).sum(), "gold"]
        own = ba.dependence_table(hidden(multi_fit, name), dimension=name)
        assert own.loc[0, ["n_items", "truth"]].tolist() == [shared.sum(), "posterior"]
        assert np.isfinite(own.loc[0, "correlation"])
