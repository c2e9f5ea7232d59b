"""Annotations on a Dask cluster: estimates and labels are those in memory, wherever parts lie or are lost."""

import os

import krippendorff
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.errors import DataError, DataFileError, ExtraError, FitError
from bayesanno.agreement.skew import count_labels
from bayesanno.inference.dask import annotations as of_dask
from bayesanno.inference.dask import cluster as of_cluster
from bayesanno.inference.diagnosis.design import find_in_design, find_in_links, link_block
from bayesanno.io import partitioned
from bayesanno.modeling.expectation import make_blocks
from tests.samples import tiny_data, write_parts

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own reader of Parquet, pandas 3.1
ONE = {"random_seed": 1, "progressbar": False}
NOISY = pytest.mark.filterwarnings(
    "ignore::bayesanno.ConvergenceWarning",
    "ignore::bayesanno.errors.IdentifiabilityWarning",
    "ignore::bayesanno.MisfitWarning",
)


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, and parts so small that each has several."""
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        patch.setattr(of_dask, "PART_ROWS", 450)
        patch.setattr(of_cluster, "FAN_IN", 3)
        yield client


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    """The crowd in eleven files, of which the last by text is not the last by number."""
    return write_parts(crowd[0].to_frame(), tmp_path_factory.mktemp("spread") / "answers", 11)


@pytest.fixture(scope="module")
def there(client, folder):
    return ba.distribute_annotations(folder, client)


def fit_both(model, data, there, method, options=None, **more):
    settings = ONE | {"method": method, "method_options": {"restarts": 2} | (options or {}), "draws": 50} | more
    return ba.fit(model, data, **settings), ba.fit(model, there, **settings)


class TestSpread:
    def test_names_and_numbers_are_those_of_the_table_read_whole(self, there, crowd):
        data = crowd[0]
        assert (there.annotators, there.labels, there.n_items) == (data.annotators, data.labels, data.n_items)
        assert there.describe() == data.describe()
        np.testing.assert_array_equal(there.by_annotator, data.by_annotator)
        assert there.n_gold == len(data.gold)
        parts = there.on_workers.client.gather(there.on_workers.parts)
        assert len(parts) == 4
        assert sorted(name for part in parts for name in part.names) == sorted(data.items)

    @NOISY
    @pytest.mark.parametrize(
        ("model", "method", "options", "initvals"),
        [
            ("mace", "vb", {}, "auto"),
            ("mace", "em", {}, "prior"),
            ("model_b", "em", {"epsilon": 0.1, "objective": "map"}, "vote"),
        ],
    )
    def test_estimates_and_labels_are_those_in_memory(self, model, method, options, initvals, there, crowd, tmp_path):
        """Without the adjustment, which depends on the order of items through the replicates of the check."""
        here, far = fit_both(model, crowd[0], there, method, options, initvals=initvals, adjust=False)
        for name, values in here["posterior"].data_vars.items():
            np.testing.assert_allclose(far["posterior"][name], values, rtol=0, atol=1e-8)
        one, other = (ba.diagnostics_of(fit)["climb"] for fit in (here, far))
        assert one["total_steps"] == other["total_steps"]
        assert one["objective"] == pytest.approx(other["objective"], rel=1e-12)
        assert [end["items_differ"] for end in one["others"]] == [end["items_differ"] for end in other["others"]]
        xr.testing.assert_allclose(far["sample_stats"].to_dataset(), here["sample_stats"].to_dataset(), rtol=1e-9)
        of_gold = ["n_gold", "gold_agreement"]  # not counted on the workers
        pd.testing.assert_frame_equal(ba.annotator_table(far), ba.annotator_table(here).drop(columns=of_gold))
        pd.testing.assert_frame_equal(ba.summary(far), ba.summary(here))

        written = ba.write_labels(far, there, tmp_path / "labels")
        labels = ba.label_table(here)
        found = pd.read_parquet(tmp_path / "labels").set_index("item").loc[labels["item"]].reset_index()
        pd.testing.assert_frame_equal(found, labels, check_exact=False, rtol=0, atol=1e-8)
        assert (written.n_items, written.n_gold) == (400, 400)
        assert written.accuracy == (labels["label"] == labels["gold"]).mean()
        assert len(list((tmp_path / "labels").iterdir())) == 4

    @NOISY
    def test_starts_that_are_followed_at_a_time_end_where_they_do_in_turn(self, there, monkeypatch):
        import bayesanno.inference.em_vb.fixed_point as climb

        settings = ONE | {"method": "em", "method_options": {"restarts": 3, "steps": 20}}
        in_turn = ba.fit("mace", there, **settings)
        monkeypatch.setattr(climb, "MANY", 1)
        monkeypatch.setattr(climb, "COARSE", 0.0)
        xr.testing.assert_identical(
            ba.fit("mace", there, **settings)["posterior"].to_dataset(), in_turn["posterior"].to_dataset()
        )

    def test_a_fit_is_saved_and_says_that_it_holds_no_items(self, there, client, crowd, tmp_path, refuses):
        fit = ba.fit("mace", there, method="em", method_options={"restarts": 1}, **ONE)
        assert set(fit.children) == {"posterior", "sample_stats", "e_step", "constant_data", "adjustment"}
        assert "item" not in {dim for group in fit.children.values() for dim in group.dims}
        ba.save(fit, tmp_path / "posterior.nc")
        loaded = ba.load(tmp_path)
        xr.testing.assert_identical(loaded, fit)
        assert ba.write_labels(loaded, there, tmp_path / "labels").n_items == 400
        for ask in (ba.label_table, ba.data_of, ba.coverage_table, lambda one: ba.predict_labels(one, tiny_data())):
            with refuses(FitError, "made on Dask, so it holds no items .*write_labels"):
                ask(fit)
        with refuses(DataFileError, "labels exists"):
            ba.write_labels(fit, there, tmp_path / "labels")
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
        with refuses(FitError, "this fit is in memory: give data from read_annotations, or None"):
            ba.write_labels(ba.fit("mace", crowd[0], method="em", method_options={"restarts": 1}, **ONE), there, "x")
        others = dd.from_pandas(tiny_data().to_frame(), npartitions=1)
        with refuses(FitError, "the annotators of the Dask DataFrame must be those of this fit"):
            ba.write_labels(fit, others, tmp_path / "others", client=client)


def frames():
    """Tables whose cells are read with care, by what is awkward about them."""
    rows = [(f"s{i % 7}", f"w{i % 4}", "yes" if i % 3 else "no") for i in range(40)]
    text = pd.DataFrame(rows, columns=["Task", "worker", "rating"])
    missing = text.astype(object)
    missing.loc[5:8, "rating"] = None
    missing.loc[len(missing)] = ["s9", "w9", None]  # an item and an annotator of whom nothing is known but the names
    missing.loc[len(missing)] = [None, None, None]
    whole = text.assign(rating=[float(i % 3) if i % 5 else np.nan for i in range(40)], worker=range(40, 0, -1))
    halves = whole.assign(rating=[1.0] * 30 + [0.5] * 10)
    spaces = text.assign(rating=[f" {label} " if at % 2 else label for at, label in enumerate(text["rating"])])
    known = text.assign(truth=["yes" if task in ("s1", "s2") else None for task in text["Task"]])
    return {
        "text": text, "missing": missing, "whole": whole, "halves": halves, "spaces": spaces, "gold": known,
        "categories": text.astype("category"),
    }  # fmt: skip


@NOISY
@pytest.mark.parametrize("what", frames())
def test_cells_are_read_as_in_memory(what, client):
    frame = frames()[what]
    data = ba.read_annotations(frame)
    there = ba.distribute_annotations(dd.from_pandas(frame, npartitions=3, sort=False), client)
    assert (there.annotators, there.labels, there.n_items) == (data.annotators, data.labels, data.n_items)
    assert (there.n_annotations, there.n_gold) == (data.n_annotations, len(data.gold))
    here, far = fit_both("one_coin", data, there, "em")
    np.testing.assert_allclose(far["posterior"]["accuracy"], here["posterior"]["accuracy"], rtol=0, atol=1e-8)


class TestDesign:
    def test_alphas_and_shares_are_those_of_krippendorff(self, there, crowd):
        data = crowd[0]
        np.testing.assert_allclose(there.label_shares, data.vote_shares.mean(axis=0))
        for label, alpha in enumerate(there.label_alphas):
            counts = np.stack([data.votes[:, label], data.votes.sum(axis=1) - data.votes[:, label]], axis=1)
            expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
            assert alpha == pytest.approx(expected, abs=1e-12)
        assert np.isnan(count_labels(np.array([[2.0, 0.0]]), np.ones(1)).alphas).all()

    @pytest.mark.parametrize("size", [1, 100])
    def test_who_is_linked_to_whom_adds_up_over_blocks(self, size):
        pieces = [("s1", "ada"), ("s1", "bo"), ("s2", "bo"), ("s2", "cy"), ("s3", "di"), ("s3", "ed"), ("s4", "flo")]
        alone = [("s1", "ada"), ("s2", "bo"), ("s3", "cy")]
        for pairs, n in ((pieces, 1), (alone, 2), (pieces[:4], 0), (pieces[:2], 1)):
            records = [(item, who, str(at % 2)) for at, (item, who) in enumerate(pairs)]
            data = ba.AnnotationData.from_records(records, labels=["0", "1"])
            problems = find_in_links(make_blocks(data, size).add_up(link_block), data)
            assert problems == find_in_design(data)
            assert len(problems) == n

    def test_the_user_is_warned_as_in_memory(self, client):
        rng = np.random.default_rng(1)
        rows = [(f"s{i}", f"w{w}", "no" if rng.uniform() < 0.85 else "yes") for i in range(60) for w in range(4)]
        frame = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        settings = ONE | {"method": "em", "method_options": {"restarts": 1}}
        said = []
        for data, more in (
            (ba.read_annotations(frame), {}), (dd.from_pandas(frame, npartitions=2), {"client": client}),
        ):  # fmt: skip
            with pytest.warns(ba.errors.IdentifiabilityWarning, match="^class-or-habit: ") as caught:
                fit = ba.fit("mace", data, **settings, **more)
            said.append([str(one.message) for one in caught])
            assert "class-or-habit" in set(ba.findings(fit)["code"])
        assert said[0] == said[1]

    @pytest.mark.parametrize(
        "answers", [(("ada", "yes"), ("bo", "no"), ("Ada", "Yes")), (("a", "x"), ("b", "y"), ("c", "NA"))]
    )
    def test_names_are_doubted_as_in_memory(self, answers, client):
        frame = pd.DataFrame(
            [(f"s{i}", who, label) for i in range(4) for who, label in answers], columns=["item", "annotator", "label"]
        )
        said = []
        for read in (ba.read_annotations, lambda table: ba.distribute_annotations(dd.from_pandas(table), client)):
            with pytest.warns(ba.errors.NamesWarning) as caught:
                read(frame)
            said.append([str(one.message).split(": ", 1)[1] for one in caught])
        assert said[0] == said[1]

    @pytest.mark.parametrize(
        ("names", "what"),
        [
            (["item", "annotator", "label", "rater"], "'annotator' and 'rater' could each be the annotator"),
            (["item", "model_a", "judge", "model_b", "label"], "'model_a' and 'model_b' may be two systems"),
        ],
    )
    def test_names_of_columns_are_doubted_as_in_memory(self, names, what, client, refuses):
        frame = pd.DataFrame([[f"{name} {i}" for name in names] for i in range(4)], columns=names)
        with refuses(DataError, what):
            ba.distribute_annotations(dd.from_pandas(frame), client)


def test_a_local_cluster_has_a_worker_for_each_core_and_keeps_memory(folder):
    with of_cluster.connect("local") as local:
        assert set(local.nthreads().values()) == {1}
        assert len(local.nthreads()) == os.cpu_count()
        assert set(local.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_").values()) == {str(2**28)}
        assert ba.distribute_annotations(folder, local).n_items == 400


class TestRefused:
    def test_methods_models_and_clients(self, client, folder, crowd, refuses):
        frame, em = dd.from_pandas(crowd[0].to_frame(), npartitions=1), {"method": "em"}
        for model, data, how, error, what in (
            (
                "mace",
                folder,
                {"client": client},
                FitError,
                r"nuts takes data in memory .*: on a Dask cluster there are",
            ),
            ("mace", frame, {"method": "advi"}, FitError, "advi takes data in memory"),
            ("easy_hard", folder, em | {"client": client}, FitError, "easy_hard has no EM: models that have are"),
            ("mace", folder, em, DataFileError, "answers' is a folder: give the path of a file, or fit a folder"),
            ("mace", frame, em, FitError, "a Dask DataFrame is read on a Dask cluster: give client"),
            ("mace", crowd[0], em | {"client": client}, FitError, "client=... is for a folder .*: leave it out"),
            ("mace", folder, em | {"client": "local"}, FitError, r"'local': it must be a dask\.distributed\.Client"),
        ):
            with refuses(error, what):
                ba.fit(model, data, **how)

    def test_a_scheduler_that_is_not_there(self, monkeypatch, refuses):
        monkeypatch.setattr(of_cluster, "TIMEOUT", "100 ms")
        before = dask.config.get("scheduler", None)
        nobody = "there is no Dask scheduler at 'tcp://127.0.0.1:9' .*start one with `dask scheduler`"
        with refuses(FitError, nobody), of_cluster.connect("tcp://127.0.0.1:9"):
            pass
        with refuses(FitError, "there is no Dask scheduler at 'nowhere:at all'"), of_cluster.connect("nowhere:at all"):
            pass
        assert dask.config.get("scheduler", None) == before

    def test_dask_that_is_not_installed(self, monkeypatch, folder, refuses):
        monkeypatch.setattr(partitioned, "find_spec", lambda _: None)
        for ask in (
            lambda: ba.fit("mace", folder, method="em", client="any"),
            lambda: ba.distribute_annotations(folder, None),
            lambda: of_cluster.connect("local").__enter__(),
        ):
            with refuses(ExtraError, r"Dask is not installed: pip install 'bayesanno\[dask\]'"):
                ask()

    def test_folders_and_files(self, client, tmp_path, crowd, refuses):
        frame = crowd[0].to_frame()
        with refuses(DataFileError, "there is no folder"):
            ba.distribute_annotations(tmp_path / "nowhere", client)
        empty = tmp_path / "empty"
        empty.mkdir()
        with refuses(DataFileError, "has no Parquet files: it is empty"):
            ba.distribute_annotations(empty, client)
        frame.to_csv(empty / "answers.csv", index=False)
        with refuses(DataFileError, "has no Parquet files: none of its 1 files and folders ends in .parquet"):
            ba.distribute_annotations(empty, client)
        (empty / "answers.parquet").write_text("item,annotator,label")
        with refuses(DataError, r"answers\.parquet cannot be read as Parquet"):
            ba.distribute_annotations(empty, client)
        with refuses(DataError, "cannot read parts of annotations from list"):
            ba.distribute_annotations([1], client)

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda frame: frame.drop(columns="label"), "b.parquet has no column 'label', unlike .*a.parquet"),
            (lambda frame: frame.assign(label=1), "column 'label' is int64 in .*b.parquet and string in .*a.parquet"),
            (lambda frame: frame.rename(columns={"gold": "other"}), "b.parquet has no column 'gold'"),
            (None, "b.parquet has a column 'gold' for the gold, unlike .*a.parquet"),
            (lambda frame: frame.assign(task="x"), None),
        ],
    )
    def test_files_whose_columns_differ(self, change, what, client, tmp_path, crowd, refuses):
        frame = crowd[0].to_frame()
        (frame if change else frame.drop(columns="gold")).to_parquet(tmp_path / "a.parquet")
        (change(frame) if change else frame).to_parquet(tmp_path / "b.parquet")
        if what is None:  # columns that are not asked for may differ
            assert ba.distribute_annotations(tmp_path, client).n_annotations == 2 * len(frame)
            return
        with refuses(DataError, what):
            ba.distribute_annotations(tmp_path, client)

    @pytest.mark.parametrize(
        ("change", "options", "what"),
        [
            ({"item": ["s1", None]}, {}, "label 'yes' has no item: fill in the column 'item'"),
            ({"annotator": ["ada", None]}, {}, "of item 's1' has no annotator: fill in the column 'annotator'"),
            ({}, {"labels": ["no", "maybe"]}, "label 'yes' is not among the declared labels, 'no', 'maybe'"),
            ({}, {"item": "task"}, "has no column 'task' to use as item"),
            ({"label": ["no", "no"]}, {}, "only one label, 'no'"),
            ({"label": [None, None]}, {}, "there is no annotation"),
            ({"gold": ["no", "yes"]}, {}, "item 's1' has two gold labels, '(no|yes)' and '(yes|no)': keep one"),
        ],
    )
    def test_rows_and_options(self, change, options, what, client, refuses):
        frame = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["no", "yes"]})
        with refuses(DataError, what):
            ba.distribute_annotations(dd.from_pandas(frame.assign(**change), npartitions=2), client, **options)
