"""Grades in order: the scale of labels, what two of them leave, extreme numbers, both parametrisations, the start."""

import numpy as np
import pytest
from scipy.special import expit

import bayesanno as ba
from bayesanno.modeling.ops.variables import centre_by
from bayesanno.models import OrdinalDawidSkene, _grades
from tests.models.contract import FAST, TINY, Graph, close

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

STEEP = np.pi / np.sqrt(3)
GRADES = ("1 bad", "2 poor", "3 fair", "4 good")


@pytest.mark.parametrize(
    ("labels", "first"),
    [(("3", "4", "5"), 3.5), (("1", "3", "5"), 1.5), (("a", "b", "c"), 1.5)],
)
def test_thresholds_are_on_the_scale_of_the_labels_numbers(labels, first):
    data = ba.AnnotationData.from_records([("u", "ada", labels[0]), ("u", "bo", labels[1])], labels=labels)
    graph = OrdinalDawidSkene().build(data)
    width = graph["width"].eval({graph["width"]: np.full(3, 1 / 3)})
    threshold = graph["threshold"].eval({graph["width"]: width})
    close(threshold, first + np.arange(2))


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


def test_it_starts_near_severities_of_the_votes(rng):
    """One grade is rare, and one annotator gave a single answer."""
    truth, severity, sd = rng.choice(4, 400, p=[0.4, 0.35, 0.22, 0.03]), rng.normal(0, 0.4, 12), 0.45
    item, who = np.repeat(np.arange(400), 8), np.concatenate([rng.permutation(11)[:8] for _ in range(400)])
    who[0] = 11
    label = np.clip(np.round(truth[item] - severity[who] + sd * rng.normal(size=item.size)), 0, 3).astype(int)
    data = ba.AnnotationData(
        item=item, annotator=who, label=label, items=tuple(f"i{n}" for n in range(400)), labels=GRADES,
        annotators=tuple(f"a{j:02}" for j in range(12)),
    )  # fmt: skip
    assert np.corrcoef(OrdinalDawidSkene().start(data)["severity"][:-1], severity[:-1])[0, 1] > 0.7
