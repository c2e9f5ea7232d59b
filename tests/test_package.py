"""What is installed: the wheel is whole, and works in an environment of its own; importing it is cheap."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest

import bayesanno as ba
from tests.samples import find_rooms

ROOT = Path(__file__).parents[1]
HEAVY = ("pymc", "pytensor", "arviz", "nutpie", "xarray", "pandas", "scipy", "matplotlib", "typer")
SHIPPED = {
    "bayesanno/py.typed", "bayesanno/__init__.pyi", "bayesanno/models/__init__.pyi", "bayesanno/agreement/__init__.pyi",
    "bayesanno/io/named_data/crowd.csv", "bayesanno/fits/papers.bib", "bayesanno/io/named_data/table9.csv",
    "bayesanno/io/named_data/table14.csv", "bayesanno/io/named_data/table15.csv", "bayesanno/io/named_data/README.md",
}  # fmt: skip


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    code = f"import sys, bayesanno; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_fit_of_data_in_memory_loads_no_reader_no_plots_and_nothing_for_dask(tmp_path):
    code = """
import sys
import bayesanno as ba
data = ba.AnnotationData.from_records([(f"i{i}", f"a{j}", "xy"[(i + j) % 3 == 0]) for i in range(9) for j in range(4)])
ba.fit("mace", data, method="nuts", draws=20, tune=20, chains=2, random_seed=1, progressbar=False)
unused = ("bayesanno.io", "bayesanno.inference.dask", "arviz_plots", "matplotlib")
print(*(name for name in sys.modules if name.startswith(unused)))
import arviz
print(arviz.__name__)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "\narviz\n"


IN_FUNCTIONS = (  # our own modules that functions may import: heavy ones, and those that most calls do not need
    "bayesanno._core.private", "bayesanno.graph.loops", "bayesanno.modeling.ops",
    "bayesanno.agreement.histograms", "bayesanno.analysis.item_types", "bayesanno.inference.dask",
    "bayesanno.inference.em_vb", "bayesanno.inference.sampling", "bayesanno.io", "bayesanno.modeling.process",
    "bayesanno.modeling.registry", "bayesanno.report.page", "bayesanno.report.plots.style",
)  # fmt: skip


def test_our_own_modules_are_imported_at_the_top_and_none_by_a_string():
    """The rule of imports of CONTRIBUTING.md."""
    inside, by_name = set(), set()
    for path in [*(ROOT / "bayesanno").rglob("*.py"), *(ROOT / "models").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            modules = {node.module for node in ast.walk(function) if isinstance(node, ast.ImportFrom)}
            inside |= {module for module in modules if module.startswith("bayesanno")}
        names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}
        by_name |= {path.name for name in ("import_module", "resolve_name", "__import__") if name in names}
    assert {module for module in inside if not module.startswith(IN_FUNCTIONS)} == set()
    assert by_name == {"lazy.py"}


NAME_A_KIND = {  # the files that may name the class of a kind of data; all others ask its record
    "CountData": {
        "bayesanno/__init__.pyi", "bayesanno/agreement/histograms.py", "bayesanno/data/counts.py",
        "bayesanno/data/designs.py", "bayesanno/io/counts.py", "bayesanno/modeling/item_types.py",
        "bayesanno/modeling/kinds/counts.py", "models/binomial_mixture.py", "models/diligent_lazy.py",
        "models/gaussian_mixture.py",
    },
    "MultiAnnotationData": {
        "bayesanno/__init__.pyi", "bayesanno/data/dimensions.py", "bayesanno/io/read.py",
        "bayesanno/modeling/kinds/dimensions.py", "models/_correctness/correlation.py", "models/model_a_multi.py",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NAME_A_KIND)
def test_only_its_own_files_name_a_kind_of_data(name):
    files = [path for folder in ("bayesanno", "models") for path in (ROOT / folder).rglob("*.py*")]
    text = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files if path.suffix != ".pyc"}
    assert {path for path, of in text.items() if name in of and "bayesanno/models/" not in path} == NAME_A_KIND[name]


def test_the_models_are_found_where_git_makes_no_symbolic_links(tmp_path):
    shutil.copytree(ROOT / "bayesanno", tmp_path / "bayesanno", ignore=shutil.ignore_patterns("models", "__pycache__"))
    shutil.copytree(ROOT / "models", tmp_path / "models", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bayesanno" / "models").write_text("../models")  # as Git leaves it
    code = "import bayesanno as ba; print(ba.get_model('mace') == ba.models.MACE(), ba.models.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"True {tmp_path / 'models' / '__init__.py'}\n"


def test_every_public_name_can_be_had_and_has_a_place_in_the_guide_or_a_notebook():
    pages = [ROOT / "README.md", *(ROOT / "notebooks").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    words = set(re.findall(r"\w+", "".join(page.read_text(encoding="utf-8") for page in pages)))
    for room in find_rooms():
        assert set(room.__all__) <= words
        assert all(getattr(room, name).__doc__.strip() for name in room.__all__)


def uv(*arguments):
    # from the repository's root: a uv that a version manager put on the path may work nowhere else
    found = os.environ.get("UV") or shutil.which("uv")
    if found is None:
        pytest.skip("no uv here to build and install the wheel with")
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [found, *map(str, arguments)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "-o", folder)  # the wheel is made from the sdist, so that is whole as well
    (built,) = folder.glob("*.whl")
    return built


def test_what_is_imported_is_declared():
    declared = {re.match(r"[\w-]+", one)[0].replace("-", "_") for one in requires("bayesanno")}
    declared |= {"arviz_base", "arviz_stats", "PIL", "pytensor"}  # which come with ArviZ, matplotlib and PyMC
    names = {"bayesanno", *sys.stdlib_module_names}
    for path in (ROOT / "bayesanno").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found += [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            assert {name.partition(".")[0] for name in found} <= names | declared, path


def test_wheel_and_sdist_hold_the_zoo_the_data_and_no_tests(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"bayesanno-{ba.__version__}.dist-info/METADATA").decode()
    assert SHIPPED <= names
    for folder, package in ((ROOT / "models", "bayesanno/models"), (ROOT / "bayesanno", "bayesanno")):
        assert {f"{package}/{path.relative_to(folder)}" for path in folder.rglob("*.py")} <= names
    assert {name.split("/")[0] for name in names} == {"bayesanno", f"bayesanno-{ba.__version__}.dist-info"}
    assert f"Version: {ba.__version__}" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (sdist,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isfile() or member.isdir() for member in members)
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", *SHIPPED} <= names
    assert not {name for name in names if name.startswith(("tests", "notebooks", "."))}


def test_the_version_is_one():
    assert f"version: {ba.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {ba.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"This is version {ba.__version__}," in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_wheel_works_where_nothing_else_of_the_project_is(wheel, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    uv("venv", "--python", sys.executable, tmp_path / "venv")
    uv("pip", "install", "--no-deps", "--python", python, wheel)
    (site,) = (tmp_path / "venv" / "lib").glob("*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))  # dependencies, as they are compiled there
    away = tmp_path / "away"
    away.mkdir()

    def run(*arguments):
        command = [python.parent / "bayesanno", *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(command, cwd=away, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version") == f"bayesanno {ba.__version__}\n"
    assert "\nmace " in run("models")
    out = run("fit", "mace", "@crowd", "--out", "crowd", "--method", "em", "--seed", "1")
    assert out.startswith("accuracy against gold of 300 items ")
    assert {path.name for path in (away / "crowd").iterdir()} == {
        "posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json", "report.html",
    }  # fmt: skip
