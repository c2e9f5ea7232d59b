"""Spammers and adversaries of simulated crowds: found in the draws, kept in the fit, and nobody else named."""

import numpy as np
import pytest

import bayesanno as ba

KINDS = {"good": 8, "fair": 4, "weak": 2, "coin": 2, "always": 2, "against": 1}
RIGHT = {"good": 0.9, "fair": 0.75, "weak": 0.65, "against": 0.15}
pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),  # of short fits
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.MisfitWarning"),  # of models without adversaries
]


def make_crowd(rng, *, items, share, per_item=8, labels=("no", "yes")):
    """A crowd of two labels: some are right at a rate, some flip a coin, some always say "no", one is against.

    One annotator, "once", gave a single answer, which is right.
    """
    names = [f"{kind}{number}" for kind, n in KINDS.items() for number in range(n)]
    truth = (rng.random(items) < share).astype(int)
    records = [("i0", "once", labels[truth[0]])]
    for item in range(items):
        for who in rng.choice(names, per_item, replace=False):
            kind = who.rstrip("0123456789")
            said = truth[item] if rng.random() < RIGHT.get(kind, 1.0) else 1 - truth[item]
            said = {"coin": rng.integers(2), "always": 0}.get(kind, said)
            records.append((f"i{item}", who, labels[said]))
    return ba.AnnotationData.from_records(records)


def listed(fit, kind):
    return {one["annotator"].rstrip("0123456789") for one in ba.diagnostics_of(fit)["chance"][kind]}


@pytest.fixture(scope="module")
def even():
    """A crowd whose coins are close to a half in their own answers too."""
    return make_crowd(np.random.default_rng(10), items=500, share=0.4)


@pytest.mark.parametrize(
    ("model", "spammers", "adversaries"),
    [
        ("model_b", {"coin", "always"}, {"against"}),
        ("mace", {"coin", "always", "against"}, set()),  # an adversary looks like a spammer
        ("one_coin", {"coin"}, {"against"}),  # one accuracy does not see who repeats a label
    ],
)
def test_coins_and_repeaters_are_spammers_and_nobody_else(model, spammers, adversaries, even):
    fit = ba.fit(model, even, method="vb", random_seed=1, progressbar=False)
    assert (listed(fit, "spammers"), listed(fit, "adversaries")) == (spammers, adversaries)
    table = ba.annotator_table(fit, worst_first=True)
    assert table["p_chance"].is_monotonic_decreasing
    assert set(table.head(3)["annotator"].str.rstrip("0123456789")) <= spammers | adversaries
    named = {one["annotator"]: one for one in ba.diagnostics_of(fit)["chance"]["spammers"]}
    for row in table[table["annotator"].isin(named)].to_dict("records"):
        found = named[row["annotator"]]
        assert found["probability"] == pytest.approx(row["p_chance"])
        assert found["n_annotations"] == row["n_annotations"]
    assert table.set_index("annotator").loc["once", "p_chance"] < 0.5


def test_with_a_rare_class_good_annotators_are_not_named():
    """Always "no" is right on .95 of the items, and .9 of each class on fewer."""
    data = make_crowd(np.random.default_rng(4), items=600, share=0.05)
    for model in ("one_coin", "model_b"):
        fit = ba.fit(model, data, method="vb", random_seed=1, progressbar=False)
        table = ba.annotator_table(fit).set_index("annotator")["p_chance"]
        assert (table[[name for name in table.index if name.startswith(("good", "fair"))]] < 0.3).all()
        assert not {"good", "fair", "weak", "once"} & (listed(fit, "spammers") | listed(fit, "adversaries"))
        assert "against" in listed(fit, "adversaries")
