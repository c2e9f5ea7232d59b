"""Defaults that docstrings name are those that the code has: of every model, setting and public function."""

import ast
import importlib
import inspect
import pkgutil
import re
import sys

import pytest

import bayesanno
from bayesanno.modeling.registry import get_model

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \w+)*) : (.+)$", re.MULTILINE)
DEFAULT = re.compile(r"\bdefault (.+)$")
CHOICES = re.compile(r"^\{(.*?)\}")
VALUE = r"(\([\d., ]+\)|[\d.]*\d)"
BESIDE = re.compile(r"^ {4}.*?(\w+) +\([\w, ]*\) +~ (?:Beta|Dirichlet|(?:Half|Log)?Normal)\(([\d., ]+)\)", re.MULTILINE)
IN_PROSE = re.compile(rf"{VALUE} by default|[Bb]y default {VALUE}")


def documented():
    """Every public class, function and method of the package that has a section of parameters, by its name."""
    found = {}
    for module in pkgutil.walk_packages(bayesanno.__path__, "bayesanno."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.name:
                continue
            members = vars(thing) if inspect.isclass(thing) else {}
            own = {f"{name}.{member}": getattr(thing, member) for member in members if not member.startswith("_")}
            for where, what in {name: thing, **own}.items():
                if callable(what) and SECTION.search(inspect.getdoc(what) or ""):
                    found[f"{module.name}.{where}"] = what
    return found


def entries(thing):
    """The names and the type of each entry of the section of parameters."""
    section = SECTION.search(inspect.getdoc(thing))[1]
    return [(names.replace("*", "").split(", "), kind) for names, kind in ENTRY.findall(section)]


def stated_defaults(names, kind):
    """What an entry says the default of each name is; nothing if it does not say."""
    stated = DEFAULT.search(kind)
    if stated:
        values = [ast.literal_eval(value) for value in stated[1].split(" and ")]
        return dict(zip(names, values * len(names) if len(values) == 1 else values, strict=True))
    choices = CHOICES.search(kind)  # of which the first is the default, as numpydoc has it
    return dict.fromkeys(names, ast.literal_eval(choices[1].split(",")[0])) if choices else {}


THINGS = documented()


@pytest.mark.parametrize("name", THINGS)
def test_documented_parameters_exist_with_their_defaults(name):
    parameters = inspect.signature(THINGS[name]).parameters
    for names, kind in entries(THINGS[name]):
        assert set(names) <= set(parameters)
        has = {own: parameters[own].default for own in names if parameters[own].default is not inspect.Parameter.empty}
        for own, value in stated_defaults(names, kind).items():
            if own in has or "default" in kind:
                assert (has[own], isinstance(has[own], bool)) == (value, isinstance(value, bool)), own
        assert set(has) == set(names) or "optional" not in kind


def card_defaults(card, names):
    """The defaults of fields in a model card: the prior beside a symbol, and prose such as "prior: 3 by default"."""
    text, found = " ".join(card.split()), {}
    for name, numbers in BESIDE.findall(card):
        if f"{name}_prior" in names:
            values = ast.literal_eval(f"({numbers},)")
            values = values[1:] if values[0] == 0 else values  # a mean of 0 is no field
            found[f"{name}_prior"] = values if len(values) > 1 else values[0]
    for said in IN_PROSE.finditer(text):
        words = [word for own in re.findall(r"\w+", text[: said.start()]) for word in (own, f"{own}_prior")]
        found[next(word for word in reversed(words) if word in names)] = ast.literal_eval(said[1] or said[2])
    return found


@pytest.mark.parametrize("name", sorted(bayesanno.list_models()["name"]))
def test_the_card_and_the_entries_of_a_model_have_the_defaults_of_its_fields(name):
    model = type(get_model(name))
    defaults = model.default_fields()
    assert {own for names, kind in entries(model) if "default" in kind for own in names} == set(defaults)
    for field, value in card_defaults(sys.modules[model.__module__].__doc__, defaults).items():
        assert defaults[field] == value, field


def test_the_defaults_are_found():
    """A parser that found nothing would agree with everything."""
    assert {"bayesanno.inference.fit.fit", "bayesanno.models.mace.MACE", "bayesanno.fits.view.FitView"} <= set(THINGS)
    card = sys.modules["bayesanno.models.mace"].__doc__
    assert card_defaults(card, get_model("mace").to_fields()) == {
        "competence_prior": (0.5, 0.5), "strategy_prior": 10, "prevalence_prior": 10,
    }  # fmt: skip
    assert stated_defaults(["method"], '{"nuts", "advi"}') == {"method": "nuts"}
    assert stated_defaults(["alpha"], '{"a", "b"}, default "b"') == {"alpha": "b"}
