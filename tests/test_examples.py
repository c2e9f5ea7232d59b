"""Examples that take a fit, or long: those that `pytest --doctest-modules` skips run here, in a folder with such fits.

What they print is compared where they say what it is; most show a table, and are to run without an error.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import warnings

import pytest

import bayesanno as ba

SKIP = doctest.OPTIONFLAGS_BY_NAME["SKIP"]
ELSEWHERE = {"bayesanno.inference.dask.annotations"}  # on a cluster: tests/inference/test_dask
SHORT = {"draws": 250, "tune": 250, "chains": 4, "random_seed": 1, "progressbar": False}


def skipped_examples():
    """Every docstring with an example that is skipped, by its name."""
    found = {}
    for name in (module.name for module in pkgutil.walk_packages(ba.__path__, "bayesanno.")):
        module = importlib.import_module(name)
        if name in ELSEWHERE or "+SKIP" not in inspect.getsource(module):
            continue
        for test in doctest.DocTestFinder().find(module):
            if any(example.options.get(SKIP) for example in test.examples):
                found[test.name] = test
    return found


EXAMPLES = skipped_examples()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the fits and files that examples name."""
    crowd = ba.read_annotations("@crowd")
    two, _ = ba.simulate(
        "easy_hard",
        ba.make_design(items=80, annotators=5, labels=("no", "yes"), per_item=4, random_seed=1),
        random_seed=1,
    )
    counts, _ = ba.simulate("binomial_mixture", ba.simulation.make_count_design(items=150, per_item=10), random_seed=2)
    exchangeable = ba.models.ModelB(confusion_accuracy=0.25)
    fits = {
        "crowd": ("mace", crowd, {}),
        "large": ("mace", crowd, {}),
        "crowd_b": ("model_b", crowd, {}),
        "run1": (exchangeable, crowd, {}),
        "run2": (exchangeable, crowd, {"random_seed": 2}),
        "usage": ("label_usage", crowd, {}),
        "types": ("binomial_mixture", counts, {}),
        "counts": ("binomial_mixture", counts, {}),
        "careful": ("binomial_mixture", counts, {}),
        "easy": ("easy_hard", two, {}),
        "table9": ("model_a", ba.read_annotations("@table9"), {}),
        "table15": ("model_a", ba.read_annotations("@table15"), {}),
    }
    path = tmp_path_factory.mktemp("examples")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, data, more) in fits.items():
            (path / name).mkdir()
            ba.save(ba.fit(model, data, **{**SHORT, **more}), path / name / "posterior.nc")
    new = crowd.to_frame().iloc[:40].assign(item=lambda table: "new " + table["item"])
    new[["item", "annotator", "label"]].to_csv(path / "new_answers.csv", index=False)
    return path


class Lenient(doctest.OutputChecker):
    """What an example does not say of its output is not compared."""

    def check_output(self, want, got, optionflags):
        return want == "" or super().check_output(want, got, optionflags)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of short fits
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    test = EXAMPLES[name]
    for example in test.examples:
        example.options.pop(SKIP, None)
        example.source = example.source.replace("simulations=200", "simulations=50").replace("workers=2", "workers=1")
    said = io.StringIO()
    runner = doctest.DocTestRunner(checker=Lenient(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    with contextlib.redirect_stdout(said):
        found = runner.run(test, out=said.write)
    assert found.failed == 0, said.getvalue()
