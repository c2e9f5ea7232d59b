"""MACE on an example small enough to enumerate by hand: every truth, and who spams on every annotation.

Three items, two annotators, labels 0 and 1; the model is that of Hovy et al. (2013), figure 2, its parameters fixed.
"""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno import AnnotationData
from bayesanno.modeling.posterior import recover
from bayesanno.models.mace import MACE
from tests.models.contract import as_posterior

DATA = AnnotationData.from_records(
    [("1", "a", "0"), ("1", "b", "0"), ("2", "a", "0"), ("2", "b", "1"), ("3", "a", "1")], labels=("0", "1")
)
MODEL = MACE(class_prior="uniform")
PARAMETERS = {"competence": np.array([0.9, 0.6]), "strategy": np.array([[0.7, 0.3], [0.5, 0.5]])}


@pytest.fixture(scope="module")
def recovered():
    return recover(MODEL, DATA, as_posterior(MODEL.build(DATA), [PARAMETERS]))


def test_marginal_probability(recovered):
    # 0.5 (.97 .8 + .07 .2) * 0.5 (.97 .2 + .07 .8) * 0.5 (.93 + .03) = .395 * .125 * .48
    total = recovered.log_likelihood.sum()
    assert np.exp(total) == pytest.approx(0.0237, rel=1e-12)
    assert total == pytest.approx(-3.742280230841051, rel=1e-12)


def test_posterior_of_the_true_class(recovered):
    expected = [[0.9822784810126582, 0.01772151898734176], [0.776, 0.224], [0.03125, 0.96875]]
    np.testing.assert_allclose(recovered.latent["probability"], expected, rtol=1e-12)


def test_table_2_of_the_paper(shared):
    data = ba.read_annotations(shared / "data" / "rte.csv")
    fit = ba.fit(MODEL, data, method="em", check=False, random_seed=1, progressbar=False)
    table = ba.coverage_table(fit, [0.75, 0.9, 1]).set_index("coverage")
    assert table["accuracy"].round(3).to_dict() == {0.75: 0.977, 0.9: 0.957, 1.0: 0.928}
    assert ba.majority_vote(data)["right"].mean() == pytest.approx(0.896875)  # ties split at random, exactly
