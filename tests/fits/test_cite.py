"""How to cite: entries of the package and of the papers that cards name, which say the same as the cards."""

import re
import sys

import bayesanno as ba
from bayesanno._core.messages import ModelError
from bayesanno.fits.cite import PAPERS, papers_of
from bayesanno.modeling.registry import list_model_classes

FIELD = re.compile(r"^ *(\w+) = \{(.*?)\},$", re.MULTILINE | re.DOTALL)
CARDS = {name: sys.modules[model.__module__].__doc__ for name, model in list_model_classes().items()}
SEEDS = {
    "model_a": "10.1371/journal.pcbi.1000391",
    "easy_hard": "10.1162/coli.2009.35.4.35402",
    "binomial_mixture": "N10-1067",
    "label_usage": "W10-1806",
    "mace": "N13-1132",
}


def fields_of(entry):
    return dict(FIELD.findall(entry))


def test_the_package_is_cited_with_its_version_and_models_with_their_papers(refuses, tiny_fit):
    assert fields_of(ba.cite())["version"] == ba.__version__
    assert ba.cite().count("@") == 1
    for name, address in SEEDS.items():
        cited = ba.cite(name)
        assert cited.startswith(ba.cite() + "\n\n@")
        assert address in cited
    assert ba.cite(tiny_fit) == ba.cite(ba.model_of(tiny_fit)) == ba.cite("model_b")
    with refuses(ModelError, "did you mean 'mace'"):
        ba.cite("maze")


def test_entries_say_what_the_card_says():
    for name, text in CARDS.items():
        card = " ".join(text.split())
        for entry in papers_of(ba.get_model(name)):
            fields = fields_of(entry)
            assert f"({fields['year']})" in card
            assert all(author.partition(",")[0] in card for author in re.split(r"\s+and\s+", fields["author"]))
            assert " ".join(re.sub("[{}]", "", fields["title"]).split()) in card


def test_papers_are_those_of_cards_and_so_are_their_addresses():
    entries = PAPERS.read_text(encoding="utf-8").strip().split("\n\n")
    used = [entry for name in CARDS for entry in papers_of(ba.get_model(name))]
    assert set(entries) == set(used)
    keys = [entry.partition("{")[2].partition(",")[0] for entry in entries]
    assert len(set(keys)) == len(keys)
    for name, card in CARDS.items():
        references = card.partition("References.")[2]
        named = re.findall(r"doi:(\S+?)[.,;:]?(?=\s)|(https://\S+?)[.,]?(?=\s)", references)
        assert {one or other for one, other in named} <= set(re.findall(r"\{(\S+)\},$", ba.cite(name), re.MULTILINE))
