"""Grades in order: what mirrors them, what two labels leave, shared perceptions, extreme numbers, recovery, caveats."""

import warnings

import numpy as np
import pymc as pm
import pytest
from scipy.special import expit
from scipy.stats import norm

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning
from bayesanno.modeling.ops.variables import centre_by, normal_around
from bayesanno.models import OrdinalDawidSkene, _grades
from tests.models.contract import FAST, LABELS, TINY, Graph, close, make_case

STEEP = np.pi / np.sqrt(3)
GRADES = ("1 bad", "2 poor", "3 fair", "4 good")


def by_numpy(test):
    return pytest.mark.usefixtures("by_numpy")(test)  # formulas of tiny data, each evaluated a few times


def draw_table(rng, *, n_items=400, n_annotators=12, per_item=5, noise="logistic", prevalence=(0.4, 0.35, 0.22, 0.03)):
    """Return data of the model with gold, severities and sds: one grade is rare, one annotator gave a single answer."""
    n_labels = len(prevalence)
    truth = rng.choice(n_labels, n_items, p=prevalence)
    severity, sd = rng.normal(0, 0.4, n_annotators), 0.45 * np.exp(0.5 * rng.normal(size=n_annotators))
    item = np.repeat(np.arange(n_items), per_item)
    who = np.concatenate([rng.permutation(n_annotators - 1)[:per_item] for _ in range(n_items)])
    who[0] = n_annotators - 1
    error = rng.normal(size=item.size) if noise == "normal" else rng.logistic(size=item.size) / STEEP
    label = np.clip(np.round(truth[item] - severity[who] + sd[who] * error), 0, n_labels - 1).astype(int)
    items = (*(f"i{n}" for n in range(n_items)), "never asked")
    data = ba.AnnotationData(
        item=item, annotator=who, label=label, items=items, labels=GRADES, order_declared=True,
        annotators=tuple(f"a{j:02}" for j in range(n_annotators)),
        gold={f"i{n}": GRADES[grade] for n, grade in enumerate(truth.tolist())},
    )  # fmt: skip
    return data, severity, sd


@by_numpy
@pytest.mark.parametrize("fields", [{}, {"noise": "normal"}], ids=str)
def test_grades_upside_down_are_perceived_upside_down(fields, rng):
    """And in another order they are other data."""
    case = make_case("ordinal_dawid_skene", fields)
    (at,) = case.draw(1, rng)
    for order, is_the_same in (([2, 1, 0], True), ([1, 0, 2], False)):
        data = ba.AnnotationData(
            item=TINY.item, annotator=TINY.annotator, label=np.argsort(order)[TINY.label],
            items=TINY.items, annotators=TINY.annotators, labels=tuple(LABELS[k] for k in order),
        )  # fmt: skip
        moved = at | {name: at[name][order] for name in ("prevalence", "width")} | {"severity": -at["severity"]}
        found = Graph(case.entry, data).item_logp(moved)
        assert np.allclose(found, case.graph.item_logp(at), rtol=1e-9) == is_the_same


@by_numpy
@pytest.mark.parametrize(
    ("labels", "first"),
    [(("0", "1", "2"), 0.5), (("3", "4", "5"), 3.5), (("1", "3", "5"), 1.5), (("a", "b", "c"), 1.5)],
)
def test_thresholds_are_on_the_scale_of_the_labels_numbers(labels, first):
    data = ba.AnnotationData.from_records([("u", "ada", labels[0]), ("u", "bo", labels[1])], labels=labels)
    graph = OrdinalDawidSkene().build(data)
    width = graph["width"].eval({graph["width"]: np.full(3, 1 / 3)})
    threshold = graph["threshold"].eval({graph["width"]: width})
    close(threshold, first + np.arange(2))


@by_numpy
def test_two_labels_have_one_threshold():
    data = ba.AnnotationData.from_records([("u", "ada", "no"), ("u", "bo", "yes")], labels=("no", "yes"))
    graph = Graph(OrdinalDawidSkene(), data)
    at = {
        "prevalence": np.array([0.3, 0.7]), "width": np.array([0.6, 0.4]), "severity": np.array([0.2, -0.4]),
        "sd": np.array([0.5, 0.8]), "severity_spread": 1.0, "typical_sd": 1.0, "sd_spread": 1.0,
    }  # fmt: skip
    low = expit(STEEP * (0.7 - np.arange(2)[:, None] + at["severity"]) / at["sd"])  # (true_class, annotator): "no"
    close(graph.item_logp(at), [np.log((at["prevalence"] * low[:, 0] * (1 - low[:, 1])).sum())])
    assert graph.model.coords["boundary"] == ("no | yes",)


@by_numpy
@pytest.mark.parametrize("noise", ["logistic", "normal"])
def test_no_parameter_makes_the_density_infinite_or_its_slope(noise, rng):
    model = OrdinalDawidSkene(noise=noise)
    graph = model.build(TINY)
    density = graph.compile_fn([graph.logp(), graph.dlogp()], mode=FAST)
    origin = graph.initial_point()
    for name, value in origin.items():
        for size in (2.0, 4.0) if "spread" in name else (2.0, 6.0, 12.0):  # spreads are multiplied by logs
            sign = rng.choice([-1.0, 1.0], size=np.shape(value))
            for far in (size * sign, np.full(np.shape(value), size), np.full(np.shape(value), -size)):
                logp, slope = density(origin | {name: far})
                assert np.isfinite(logp), (name, far)
                assert np.isfinite(slope).all(), (name, far)


@by_numpy
@pytest.mark.parametrize("by_log", [False, True])
def test_numbers_around_a_mean_have_one_density_however_they_are_sampled(by_log, rng):
    for centring in (np.zeros(3), np.full(3, 0.3), np.ones(3), rng.uniform(size=3)):
        with pm.Model(coords={"annotator": range(3)}) as graph:
            pm.Normal("mean")
            level, spread = pm.Normal("level"), pm.Gamma("spread", 2, 2)
            sampled = {"centring": centring, "level": level, "by_log": by_log}
            normal_around("x", graph["mean"], spread, dims="annotator", **sampled)
        point = {"mean": np.array(-0.7), "level": np.array(0.9), "spread_log__": np.array(0.4)}
        point |= {"x_centred__": rng.normal(size=3)}
        scale = np.exp(0.4) ** (1 - centring)
        number = -0.7 + scale * (point["x_centred__"] - centring * (-0.7 + 0.9))
        values = graph.compile_fn(graph.unobserved_value_vars, inputs=graph.value_vars, mode=FAST)(point)
        close(values[-1], np.exp(number) if by_log else number)
        density = graph.compile_logp(vars=graph["x"], sum=False, mode=FAST)(point)[0]
        close(density, norm(-0.7, np.exp(0.4)).logpdf(number) + np.log(scale))


@by_numpy
@pytest.mark.parametrize(("n_answering", "many", "sign"), [(9, 9, -1), (10, 11, 1)])
def test_both_parametrisations_of_severities_have_one_posterior(n_answering, many, sign, rng, monkeypatch):
    """With it from 10 annotators on: values of both forms differ by the share w of it, and densities not at all."""
    data = ba.AnnotationData(
        item=np.repeat(np.arange(6), n_answering), annotator=np.tile(np.arange(n_answering), 6),
        label=rng.integers(4, size=6 * n_answering), items=tuple("uvwxyz"), labels=GRADES, order_declared=True,
        annotators=tuple(f"a{j:02}" for j in range(12)),
    )  # fmt: skip
    graph = OrdinalDawidSkene().build(data)
    monkeypatch.setattr(_grades, "MANY", many)
    in_the_other_form = OrdinalDawidSkene().build(data)
    point = {name: rng.normal(size=np.shape(value)) for name, value in graph.initial_point().items()}
    found = []
    for each in (graph, in_the_other_form):
        variables = {variable.name: variable for variable in each.unobserved_value_vars}
        outputs = {"logp": each.logp()} | {name: of for name, of in variables.items() if name not in point}
        values = each.compile_fn(list(outputs.values()), inputs=each.value_vars, mode=FAST)(point)
        found.append(dict(zip(outputs, values, strict=True)))
        shift = -sign * centre_by(data.by_annotator / 2) * (found[0]["threshold"].mean() - 0.5)  # (annotator,)
        point = point | {"severity_centred__": point["severity_centred__"] + shift}
    assert {"logp", "severity", "sd", "threshold", "accuracy"} <= set(found[0])
    for name, value in found[0].items():
        close(found[1][name], value)


def test_spreads_are_sampled_on_a_log_scale():
    model = OrdinalDawidSkene()
    names = {variable.name for variable in model.build(TINY).value_vars}
    assert {f"{name}_log__" for name in model.scale_parameters()} <= names


@pytest.fixture(scope="module")
def recovered():
    data, severity, sd = draw_table(np.random.default_rng(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws may be warned about
        fit = ba.fit("ordinal_dawid_skene", data, draws=300, tune=300, chains=2, random_seed=2, progressbar=False)
    return fit, data, severity, sd


def test_severities_and_noise_are_recovered(recovered):
    fit, _, severity, sd = recovered
    assert ba.diagnostics_of(fit)["divergences"] == 0
    draws = fit["posterior"].dataset.stack(sample=("chain", "draw"))
    below = []  # the share of draws below each true number
    for name, truth in (("severity", severity), ("sd", sd)):
        found = draws[name].transpose("annotator", "sample").values
        below += (found < truth[:, None]).mean(axis=1).tolist()
        means = found.mean(axis=1)
        assert np.corrcoef(means[:-1], truth[:-1])[0, 1] > 0.8  # the last gave one answer
    inside = (np.array(below) > 0.03) & (np.array(below) < 0.97)
    assert inside.sum() >= 20  # of 24: where 94% are inside, fewer are in 1 of 80 tables
    width = draws["sd"].std("sample") / draws["sd"].mean("sample")
    assert float(width[-1]) > 2 * float(width[:-1].median())  # one answer shows little


def test_labels_are_better_than_the_vote_and_a_rare_grade_is_found(recovered):
    fit, data, *_ = recovered
    labels = ba.label_table(fit).set_index("item").drop(index="never asked")
    vote = np.array(data.labels)[data.votes.argmax(axis=1)][: len(labels)]
    right = labels["label"] == labels["gold"]
    assert right.mean() > (vote == labels["gold"]).mean() + 0.02
    rare = labels["gold"] == GRADES[-1]
    assert rare.sum() >= 5
    assert right[rare].mean() > 0.5
    never = fit["latent"]["probability"].sel(item="never asked").values
    np.testing.assert_allclose(never, fit["posterior"]["prevalence"].mean(("chain", "draw")), rtol=1e-6)


def test_accuracy_is_how_often_an_annotator_reports_the_grade(recovered):
    fit, data, *_ = recovered
    accuracy = ba.annotator_table(fit).set_index("annotator")["competence_mean"]
    agreed = data.label == data.gold_codes[data.item]
    for j, name in enumerate(data.annotators[:-1]):
        own = agreed[data.annotator == j]
        assert abs(own.mean() - accuracy[name]) < 4 * np.sqrt(0.25 / own.size)
    threshold = fit["posterior"]["threshold"]
    assert threshold["boundary"].values.tolist() == ["1 bad | 2 poor", "2 poor | 3 fair", "3 fair | 4 good"]
    assert abs(threshold.mean(("chain", "draw")).values - [1.5, 2.5, 3.5]).max() < 0.3


def test_it_starts_near_severities_of_the_votes():
    data, severity, _ = draw_table(np.random.default_rng(4), per_item=8)
    start = OrdinalDawidSkene().start(data)
    assert np.corrcoef(start["severity"][:-1], severity[:-1])[0, 1] > 0.7
