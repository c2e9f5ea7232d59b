"""The door to the zoo: models by name, from this package and from others."""

from dataclasses import FrozenInstanceError, dataclass
from importlib.metadata import EntryPoint, entry_points

import pytest

import bayesanno as ba
from bayesanno._core.fields import Positive
from bayesanno._core.messages import ModelError
from bayesanno.modeling import registry as zoo
from bayesanno.models.mace import MACE


@dataclass(frozen=True, kw_only=True)
class Guest(MACE):
    """A model of another package."""

    name = "guest"
    generosity: Positive = 2.0


@pytest.fixture
def guests(monkeypatch):
    """A zoo that other packages have joined."""
    zoo._entry_points.cache_clear()
    entries = [*entry_points(group=zoo.GROUP), EntryPoint("guest", f"{__name__}:Guest", zoo.GROUP)]
    entries += [EntryPoint("stone", "math:pi", zoo.GROUP), EntryPoint("stray", "pathlib:Path", zoo.GROUP)]
    asked = []
    monkeypatch.setattr(zoo, "entry_points", lambda *, group: asked.append(group) or entries)
    yield asked
    zoo._entry_points.cache_clear()


def test_an_alias_is_taken_wherever_a_name_is_and_listed_beside_it():
    assert ba.get_model("dawid_skene", {"confusion_accuracy": "0.8"}) == ba.models.ModelB(confusion_accuracy=0.8)
    table = ba.list_models().set_index("name")
    assert "dawid_skene" not in table.index
    assert table["aliases"][table["aliases"] != ""].to_dict() == {"model_b": "dawid_skene"}
    assert table.loc["mace", "fields"].startswith("prevalence_prior=10, class_prior=learnt, competence_prior=0.5:0.5")
    assert table.loc["model_b", "model"].startswith("Model B: every annotator has a confusion matrix")


def test_a_model_of_another_package_joins_by_an_entry_point_and_what_is_no_model_is_refused(guests, refuses):
    model = ba.get_model("guest", {"generosity": "3", "competence_prior": "1:2"})
    assert guests == ["bayesanno.models"]
    assert (model.generosity, model.competence_prior) == (3.0, (1.0, 2.0))
    for name in ("stone", "stray"):
        with refuses(ModelError, rf"the entry point '{name}' \(.*\) is not an AnnotationModel"):
            ba.get_model(name)


def test_what_does_not_fit_is_refused(refuses):
    for fields, match in (
        ({"strategy_prior": 0}, "mace: strategy_prior is 0: it must be a number > 0"),
        ({"strategy_prior": float("nan")}, "strategy_prior is nan"),
        ({"strategy_prior": True}, "strategy_prior is True"),
        ({"competence_prior": (1, 1, 1)}, r"competence_prior is \(1, 1, 1\): it must be 2 numbers"),
        ({"competence_prior": "1:-1"}, "competence_prior is -1: it must be a number > 0"),
        ({"class_prior": "even"}, "class_prior is 'even': it must be one of 'learnt', 'uniform'"),
    ):
        with refuses(ModelError, match):
            ba.get_model("mace", fields)
    with refuses(ModelError, "no model 'modelb': did you mean 'model_b'"):
        ba.get_model("modelb")


def test_a_model_is_a_value_and_fields_make_another():
    plain = ba.get_model("mace")
    assert ba.get_model(plain) is plain
    even = ba.get_model(plain, {"class_prior": "uniform"})
    assert (plain.class_prior, even.class_prior) == ("learnt", "uniform")
    assert even == MACE(class_prior="uniform")
    assert hash(even) == hash(MACE(class_prior="uniform"))
    assert MACE.from_fields(even.to_fields()) == even
    with pytest.raises(FrozenInstanceError):
        plain.class_prior = "learnt"
    with pytest.raises(ModelError, match="mace has no field 'competence_prio': did you mean 'competence_prior'"):
        MACE(competence_prio=(1, 1))


def test_a_model_that_is_defined_outside_the_zoo_is_found_by_its_name():
    def define():
        return dataclass(frozen=True, kw_only=True)(type("Own", (MACE,), {"name": "of_a_notebook"}))

    first = define()
    assert ba.get_model("of_a_notebook", {"strategy_prior": 3}) == first(strategy_prior=3)
    second = define()  # the cell is run again
    assert type(ba.get_model("of_a_notebook")) is second
    assert "of_a_notebook" not in set(ba.list_models()["name"])
    heir = dataclass(frozen=True, kw_only=True)(type("Heir", (second,), {}))  # has no name of its own
    assert type(ba.get_model("of_a_notebook")) is not heir
    namesake = dataclass(frozen=True, kw_only=True)(type("Namesake", (MACE,), {"name": "mace"}))
    assert type(ba.get_model("mace")) is MACE is not namesake
