"""Annotations on a Dask cluster: estimates and labels are those in memory, wherever parts lie or are lost."""

import os

import krippendorff
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, DataFileError, ExtraError, FitError
from bayesanno.inference.dask import annotations as of_dask
from bayesanno.inference.dask import cluster as of_cluster
from bayesanno.inference.dask.annotations import link_block
from bayesanno.inference.diagnosis.findings import find_in_design
from bayesanno.io import partitioned
from bayesanno.modeling.expectation import make_blocks
from bayesanno.modeling.kinds.base import find_in_links
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
        [("mace", "vb", {}, "prior"), ("model_b", "em", {"epsilon": 0.1, "objective": "map"}, "vote")],
    )
    def test_estimates_and_labels_are_those_in_memory(self, model, method, options, initvals, there, crowd, tmp_path):
        how = ONE | {"method_options": {"restarts": 2} | options, "draws": 50, "initvals": initvals}
        here, far = (ba.fit(model, data, method=method, **how) for data in (crowd[0], there))
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

    def test_a_fit_is_saved_and_says_that_it_holds_no_items(self, there, client, crowd, tmp_path, refuses):
        fit = ba.fit("mace", there, method="em", method_options={"restarts": 1}, **ONE)
        assert set(fit.children) == {"posterior", "sample_stats", "e_step", "constant_data", "check"}
        assert "item" not in {dim for group in fit.children.values() for dim in group.dims}
        ba.save(fit, tmp_path / "posterior.nc")
        loaded = ba.load(tmp_path)
        xr.testing.assert_identical(loaded, fit)
        assert ba.write_labels(loaded, there, tmp_path / "labels").n_items == 400
        for ask in (ba.label_table, ba.data_of, lambda one: ba.predict_labels(one, tiny_data())):
            with refuses(FitError, "made on Dask, so it holds no items"):
                ask(fit)
        with refuses(DataFileError, "labels exists"):
            ba.write_labels(fit, there, tmp_path / "labels")
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
        with refuses(FitError, "this fit is in memory"):
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
    spaces = text.assign(rating=[f" {label} " if at % 2 else label for at, label in enumerate(text["rating"])])
    known = text.assign(truth=["yes" if task in ("s1", "s2") else None for task in text["Task"]])
    return {
        "text": text, "missing": missing, "whole": whole, "spaces": spaces, "gold": known,
    }  # fmt: skip


@pytest.mark.parametrize("what", frames())
def test_cells_are_read_as_in_memory(what, client):
    frame = frames()[what]
    data = ba.read_annotations(frame)
    there = ba.distribute_annotations(dd.from_pandas(frame, npartitions=3, sort=False), client)
    assert (there.annotators, there.labels, there.n_items) == (data.annotators, data.labels, data.n_items)
    assert (there.n_annotations, there.n_gold) == (data.n_annotations, len(data.gold))
    np.testing.assert_array_equal(there.by_annotator, data.by_annotator)


class TestDesign:
    def test_alphas_and_shares_are_those_of_krippendorff(self, there, crowd):
        data = crowd[0]
        np.testing.assert_allclose(there.label_shares, data.vote_shares.mean(axis=0))
        for label, alpha in enumerate(there.label_alphas):
            counts = np.stack([data.votes[:, label], data.votes.sum(axis=1) - data.votes[:, label]], axis=1)
            expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
            assert alpha == pytest.approx(expected, abs=1e-12)

    def test_who_is_linked_to_whom_adds_up_over_blocks(self):
        pieces = [("s1", "ada"), ("s1", "bo"), ("s2", "bo"), ("s2", "cy"), ("s3", "di"), ("s3", "ed"), ("s4", "flo")]
        alone = [("s1", "ada"), ("s2", "bo"), ("s3", "cy")]
        for pairs, n in ((pieces, 1), (alone, 2), (pieces[:4], 0), (pieces[:2], 1)):
            records = [(item, who, str(at % 2)) for at, (item, who) in enumerate(pairs)]
            data = ba.AnnotationData.from_records(records, labels=["0", "1"])
            problems = find_in_links(make_blocks(data, 1).add_up(link_block), data)
            assert problems == find_in_design(data)
            assert len(problems) == n

    def test_the_user_is_warned_as_in_memory(self, client):
        rng = np.random.default_rng(1)
        rows = [(f"s{i}", f"w{w}", "no" if rng.uniform() < 0.85 else "yes") for i in range(60) for w in range(4)]
        frame, said = pd.DataFrame(rows, columns=["item", "annotator", "label"]), []
        for data, more in (
            (ba.read_annotations(frame), {}),
            (dd.from_pandas(frame, npartitions=2), {"client": client}),
        ):
            with pytest.warns(ba.errors.IdentifiabilityWarning, match="^class-or-habit: ") as caught:
                ba.fit("mace", data, method="em", method_options={"restarts": 1}, **ONE, **more)
            said.append([str(one.message) for one in caught])
        assert said[0] == said[1]


def test_a_local_cluster_has_a_worker_for_each_core_and_keeps_memory():
    with of_cluster.connect("local") as local:
        assert list(local.nthreads().values()) == [1] * os.cpu_count()
        assert set(local.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_").values()) == {str(2**28)}


class TestRefused:
    def test_methods_models_and_clients(self, client, folder, crowd, refuses):
        em, frame = {"method": "em"}, dd.from_pandas(crowd[0].to_frame(), npartitions=1)
        for model, data, how, error, what in (
            ("mace", folder, {"client": client}, FitError, "nuts takes data in memory"),
            ("easy_hard", folder, em | {"client": client}, FitError, "easy_hard has no EM"),
            ("mace", folder, em, DataFileError, "answers' is a folder"),
            ("mace", frame, em, FitError, "a Dask DataFrame is read on a Dask cluster: give client"),
            ("mace", crowd[0], em | {"client": client}, FitError, "client=... is for a folder"),
            ("mace", folder, em | {"client": "local"}, FitError, r"must be a dask\.distributed\.Client"),
        ):
            with refuses(error, what):
                ba.fit(model, data, **how)

    def test_a_scheduler_that_is_not_there(self, monkeypatch, refuses):
        monkeypatch.setattr(of_cluster, "TIMEOUT", "100 ms")
        before = dask.config.get("scheduler", None)
        for address in ("tcp://127.0.0.1:9", "nowhere:at all"):
            with refuses(FitError, f"there is no Dask scheduler at '{address}'"), of_cluster.connect(address):
                pass
        assert dask.config.get("scheduler", None) == before

    def test_dask_that_is_not_installed(self, monkeypatch, folder, refuses):
        monkeypatch.setattr(partitioned, "find_spec", lambda _: None)
        for ask in (lambda: ba.distribute_annotations(folder, None), lambda: of_cluster.connect("local").__enter__()):
            with refuses(ExtraError, r"Dask is not installed: pip install 'bayesanno\[dask\]'"):
                ask()

    def test_folders_and_files(self, client, tmp_path, refuses):
        empty = tmp_path / "empty"
        with refuses(DataFileError, "there is no folder"):
            ba.distribute_annotations(empty, client)
        empty.mkdir()
        with refuses(DataFileError, "has no Parquet files: it is empty"):
            ba.distribute_annotations(empty, client)
        (empty / "answers.parquet").write_text("item,annotator,label")
        with refuses(DataError, r"answers\.parquet cannot be read as Parquet"):
            ba.distribute_annotations(empty, client)
        with refuses(DataError, "cannot read parts of annotations from list"):
            ba.distribute_annotations([1], client)

    def test_files_whose_columns_differ(self, client, tmp_path, crowd, refuses):
        frame = crowd[0].to_frame()
        frame.to_parquet(tmp_path / "a.parquet")
        for changed, what in (
            (frame.drop(columns="label"), "b.parquet has no column 'label'"),
            (frame.assign(label=1), "column 'label' is int64 in .*b.parquet and string in .*a.parquet"),
            (frame.rename(columns={"gold": "other"}), "b.parquet has no column 'gold'"),
        ):
            changed.to_parquet(tmp_path / "b.parquet")
            with refuses(DataError, what):
                ba.distribute_annotations(tmp_path, client)
        frame.assign(task="x").to_parquet(tmp_path / "b.parquet")  # columns that are not asked for may differ
        assert ba.distribute_annotations(tmp_path, client).n_annotations == 2 * len(frame)

    @pytest.mark.parametrize(
        ("change", "options", "what"),
        [
            ({"item": ["s1", None]}, {}, "label 'yes' has no item"),
            ({"annotator": ["ada", None]}, {}, "of item 's1' has no annotator"),
            ({}, {"labels": ["no", "maybe"]}, "label 'yes' is not among the declared labels"),
            ({}, {"item": "task"}, "has no column 'task' to use as item"),
            ({"label": ["no", "no"]}, {}, "only one label, 'no'"),
            ({"label": [None, None]}, {}, "there is no annotation"),
            ({"gold": ["no", "yes"]}, {}, "item 's1' has two gold labels"),
        ],
    )
    def test_rows_and_options(self, change, options, what, client, refuses):
        frame = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["no", "yes"]})
        with refuses(DataError, what):
            ba.distribute_annotations(dd.from_pandas(frame.assign(**change), npartitions=2), client, **options)
