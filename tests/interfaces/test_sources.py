"""Sources of samples in files: read twice, shuffled, interrupted, resumed, and results written."""

import gzip
import io
import json
import pickle
import sys
import threading
import tracemalloc
from contextlib import suppress

import av
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard
from PIL import Image
from scipy import sparse

import thresher
from interrupting import Interrupt
from pages import run_page
from thresher import NovelDocumentDetector, OnlineOrthogonalDictionary, OnlineRobustNMF, TopicModel

rng = np.random.default_rng(0)
N, F = 132, 12
X = rng.gamma(1.0, size=(N, 3)) @ rng.random((3, F)) + 0.01 * rng.random((N, F))
X[rng.random(X.shape) < 0.05] += 2
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
THIN = sparse.csr_array(np.where(X > 1.5, X, 0))
FRAMES = np.round(40 * X).astype(np.uint8).reshape(N, 3, 4)
NAMES = [f"c{j}" for j in range(F)]


def table(values=GAPS):
    columns = {n: pa.array(values[:, j], from_pandas=True) for j, n in enumerate(NAMES)}
    return pa.table(columns)


def lines():
    rows = [[None if np.isnan(v) else v for v in row] for row in GAPS]
    return "".join(json.dumps(dict(zip(NAMES, r, strict=True))) + "\n" for r in rows).encode()


def packed_csv(path):
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(table(), file)


def video(path, frames, codec, kind):
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], kind
        stream.codec_context.gop_size = 12
        for frame in frames:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        file.mux(stream.encode(None))


def images(folder):
    for number, frame in enumerate(FRAMES):
        Image.fromarray(frame).save(folder / f"{number:04}.png")


def parts(folder):
    for number, start in enumerate((0, 50, 90)):
        stop = (50, 90, N)[number]
        pa.parquet.write_table(table(GAPS[start:stop]), folder / f"{number}.parquet")


FLAT = FRAMES.reshape(N, -1)
KINDS = {
    "npy": ("x.npy", lambda p: np.save(p, X), X),
    "mapped": ("m.npy", lambda p: np.save(p, X), X),
    "frames": ("v.npy", lambda p: np.save(p, FRAMES), FLAT),
    "fortran": ("f.npy", lambda p: np.save(p, np.asfortranarray(X)), X),
    "npz": ("x.npz", lambda p: np.savez_compressed(p, a=X.astype(np.float32)), X.astype("f4")),
    "csr": ("s.npz", lambda p: sparse.save_npz(p, THIN), THIN.toarray()),
    "parquet": ("x.parquet", lambda p: pa.parquet.write_table(table(), p, row_group_size=70), GAPS),
    "parquets": ("*.parquet", lambda p: parts(p.parent), GAPS),
    "feather": ("x.feather", lambda p: pa.feather.write_feather(table(), p, chunksize=70), GAPS),
    "csv": ("x.csv", lambda p: pa.csv.write_csv(table(), p), GAPS),
    "csv.gz": ("x.csv.gz", packed_csv, GAPS),
    "jsonl": ("x.jsonl", lambda p: p.write_bytes(lines()), GAPS),
    "jsonl.gz": ("x.jsonl.gz", lambda p: p.write_bytes(gzip.compress(lines())), GAPS),
    "jsonl.zst": ("x.jsonl.zst", lambda p: p.write_bytes(zstandard.compress(lines())), GAPS),
    "images": (".", lambda p: images(p), FLAT),
    "exact video": ("v.mkv", lambda p: video(p, FRAMES, "ffv1", "gray"), FLAT),
}
VIDEOS = [("v.mp4", "libx264", "yuv420p"), ("v.avi", "mpeg4", "yuv420p")]
SEQUENTIAL = ("npz", "csr", "csv", "csv.gz", "jsonl", "jsonl.gz", "jsonl.zst")


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    name, write, truth = KINDS[request.param]
    write(tmp_path / name)
    path = tmp_path / name
    data = np.load(path, mmap_mode="r") if request.param == "mapped" else path
    return request.param, thresher.open(data, batch_size=32), truth


def dense(piece):
    return piece.toarray() if sparse.issparse(piece) else piece


def rows(source, pass_index=0, skip=0):
    pieces = [dense(piece) for piece in source.pieces(pass_index, skip)]
    return np.concatenate(pieces) if pieces else np.empty((0, F))


def model(**given):
    given = {"batch_size": 32, "random_state": 0, "verbose": 0, "n_jobs": 1, "tol": 0.0, **given}
    return OnlineRobustNMF(3, **given)


def test_a_source_gives_what_is_in_the_file_as_often_as_it_is_read(kind):
    name, source, truth = kind
    elsewhere = pickle.loads(pickle.dumps(source))  # sources travel to other processes
    for each in (source, source, elsewhere):
        np.testing.assert_array_equal(rows(each), truth)
    assert elsewhere.origin() == source.origin()
    lengths = [piece.shape[0] for piece in source]
    assert lengths == [32] * 4 + [4]
    assert source.n_features == F
    assert source.n_samples in ((None,) if name[:3] in ("csv", "jso") else (N,))
    named = name[:4] in ("parq", "feat", "csv", "csv.", "json")
    assert source.names == (NAMES if named else None)
    assert source.sample_shape == ((3, 4) if truth is FLAT else None)


def test_shuffled_passes_are_permutations_that_can_be_taken_up_anywhere(kind):
    name, source, truth = kind
    mixed = source.shuffled(30, seed=4)
    first, second = rows(mixed), rows(mixed, 1)
    np.testing.assert_array_equal(rows(mixed), first)
    assert not np.array_equal(first, second, equal_nan=True)
    assert not np.array_equal(first, rows(source.shuffled(30, seed=5)), equal_nan=True)
    for given in (first, second):
        np.testing.assert_array_equal(np.sort(given, axis=0), np.sort(truth, axis=0))
    for skip in (0, 1, 3, 4, 5):
        np.testing.assert_array_equal(rows(mixed, 1, skip), second[32 * skip :])
        np.testing.assert_array_equal(rows(source, 1, skip), truth[32 * skip :])
    # Rows move within a window where files are read in order only.
    known = np.nan_to_num(truth)
    places = [np.flatnonzero((known == row).all(axis=1)) for row in np.nan_to_num(first)]
    moved = [min(abs(at - there)) for at, there in enumerate(places)]
    assert max(moved) < 30 if name in SEQUENTIAL else max(moved) >= 30


def test_a_fit_sees_each_pass_in_its_own_order():
    mixed = thresher.open(X, batch_size=32).shuffled(64, seed=4)
    for pass_index, skip in ((0, 1), (1, 0), (1, 2)):
        seen = np.concatenate([batch.X for batch in mixed.batches(pass_index, skip)])
        np.testing.assert_array_equal(seen, rows(mixed, pass_index, skip))


def test_resumed_runs_have_the_bits_of_uninterrupted_ones(kind, tmp_path):
    name, source, _ = kind
    source = source if name in ("npy", "csv.gz", "images") else source.shuffled(30)
    whole = model(n_passes=2).fit(source)
    assert whole.n_samples_seen_ == 2 * N
    # At the end of a pass; after the first batch, and again in the next pass.
    for stops in [(5,), (1, 6)]:
        broken = model(n_passes=2)
        learn = broken.fit
        for stop in stops:
            broken.set_params(callbacks=[Interrupt(stop)])
            with suppress(KeyboardInterrupt):
                learn(source)
            thresher.save(broken, tmp_path / "model.thresher")
            broken = thresher.load(tmp_path / "model.thresher")
            learn = broken.resume
        learn(source)
        np.testing.assert_array_equal(broken.components_, whole.components_)
        assert broken.n_samples_seen_ == 2 * N


def test_fit_on_a_file_is_fit_on_the_array(kind):
    _, source, truth = kind
    array = model(shuffle=False, n_passes=2).fit(truth)
    with_file = model(n_passes=2).fit(source)
    np.testing.assert_allclose(with_file.components_, array.components_, rtol=1e-5)
    if source.names:
        assert list(with_file.feature_names_in_) == NAMES


# ---------------------------------------------------------------------------- results


@pytest.mark.parametrize("target", ["out.npy", "out.parquet", "out.feather", "out.csv", "map"])
def test_what_is_written_is_what_the_array_gives(target, tmp_path):
    pa.parquet.write_table(table(), tmp_path / "x.parquet")
    source = thresher.open(tmp_path / "x.parquet", batch_size=128)  # a block of rows
    fitted = model().fit(source)
    frame = fitted.feature_names_in_, table().to_pandas()
    place = tmp_path / target

    def written(verb, width, **options):
        shape = (N,) if width is None else (N, width)
        kind = int if verb == "predict" else float
        where = np.lib.format.open_memmap(place, "w+", kind, shape) if target == "map" else place
        done = getattr(fitted, verb)(source, write=where, **options)
        if target == "map":
            return np.array(done)
        assert done == place
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted({"x.parquet", target})
        values = np.load(done) if target == "out.npy" else thresher.open(done).load()
        return values if width is not None or target == "out.npy" else values[:, 0]

    close = {"rtol": 1e-9} if target == "out.csv" else {"rtol": 0}
    np.testing.assert_allclose(written("transform", 3), fitted.transform(frame[1]), **close)
    np.testing.assert_allclose(written("impute", F), fitted.impute(frame[1]), **close)
    np.testing.assert_allclose(
        written("impute", F, bounds=(0, 1)), fitted.impute(frame[1], (0, 1)), **close
    )
    scores = fitted.score_samples(frame[1])
    np.testing.assert_allclose(written("score_samples", None), scores, **close)
    assert fitted.score(source) == pytest.approx(fitted.score(frame[1]))
    np.testing.assert_array_equal(written("predict", None), fitted.predict(frame[1]))


def test_results_without_a_file_come_batch_by_batch_and_again(tmp_path):
    np.save(tmp_path / "x.npy", X)
    source = thresher.open(tmp_path / "x.npy", batch_size=100)
    for fitted in (model(), OnlineOrthogonalDictionary(random_state=0, verbose=0)):
        fitted.fit(source)
        codes = fitted.transform(source)
        assert [len(part) for part in codes] == [100, 32]
        np.testing.assert_array_equal(np.concatenate(list(codes)), fitted.transform(X))
    fitted = model().set_output(transform="pandas")
    first = next(iter(fitted.fit_transform(source)))
    assert list(first.columns) == ["onlinerobustnmf0", "onlinerobustnmf1", "onlinerobustnmf2"]


def test_videos_are_taken_apart_into_videos(tmp_path):
    video(tmp_path / "v.mkv", FRAMES, "ffv1", "gray")
    source = thresher.open(tmp_path / "v.mkv")
    fitted = model().fit(source)
    low, _, codes = fitted.separate(FLAT)
    names = {"low_rank": "l.mkv", "outliers": "o.mp4", "codes": "c.parquet"}
    paths = fitted.separate(source, write={n: tmp_path / p for n, p in names.items()})
    shown = thresher.open(paths["low_rank"])
    assert shown.sample_shape == (3, 4)
    assert shown.reader.rate == 25
    np.testing.assert_array_equal(shown.load(), np.rint(np.minimum(np.abs(low), 255)))
    assert thresher.open(paths["outliers"]).n_samples == N
    np.testing.assert_array_equal(thresher.open(paths["codes"]).load(), codes)


@pytest.mark.parametrize(("name", "codec", "kind"), VIDEOS)
def test_compressed_video_is_resumed_at_any_frame(name, codec, kind, tmp_path):
    """Frames refer to others, yet a pass that begins in the middle has the same bits."""
    y, x = np.mgrid[:32, :48]
    moving = np.stack(
        [(128 + 100 * np.sin((x + 2 * t) / 7) * np.cos((y - t) / 5)) for t in range(60)]
    )
    video(tmp_path / name, moving.astype(np.uint8), codec, kind)
    source = thresher.open(tmp_path / name, batch_size=8)
    whole = source.load()
    assert whole.shape == (60, 32 * 48)
    assert np.abs(whole.reshape(moving.shape) - moving).mean() < 8
    for size in (1, 7, 8):
        for skip in range(0, -(-60 // size), 3):
            given = rows(source.in_batches(size), 0, skip)
            np.testing.assert_array_equal(given, whole[size * skip :])
    color = thresher.open(tmp_path / name, color=True, size=(16, 24))
    assert color.sample_shape == (16, 24, 3)


def test_files_of_a_folder_come_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 1):
        Image.fromarray(np.full((2, 2), number, np.uint8)).save(tmp_path / f"frame{number}.png")
    (tmp_path / "README.txt").write_text("taken in the hall")
    for name in ("", "*.png"):
        np.testing.assert_array_equal(thresher.open(tmp_path / name).load()[:, 0], [1, 2, 10])


def test_arrays_frames_and_lists_can_be_written_too(tmp_path):
    frame = table(X).to_pandas()
    for fitted, data in ((model().fit(frame), frame), (model().fit(X), X.tolist())):
        path = fitted.transform(data, write=tmp_path / "c.npy")
        np.testing.assert_array_equal(np.load(path), fitted.transform(data))
    paths = fitted.separate(THIN, write={"outliers": tmp_path / "o.npy"})
    wanted = fitted.separate(THIN.toarray()).outliers
    np.testing.assert_array_equal(np.load(paths["outliers"]), wanted)


def test_several_files_are_told_from_others_by_what_is_in_them(tmp_path):
    """Files of the same names, sizes and columns, one of them with other numbers."""
    origins = []
    for last in (X, X[::-1], X):
        for name, rows in (("1.npy", X), ("2.npy", last)):
            np.save(tmp_path / name, rows)
        origins.append(thresher.open(str(tmp_path / "*.npy")).origin()["the source"])
    assert origins[0] == origins[2] != origins[1]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 32 MB, in batches of 256 kB: learning and coding hold a few of these."""
    Y = np.tile(rng.random((512, 256), dtype=np.float32), (64, 1))
    np.save(tmp_path / "x.npy", Y)
    pa.parquet.write_table(
        pa.table({str(j): Y[:, j] for j in range(256)}), tmp_path / "x.parquet", row_group_size=4096
    )
    n, size = len(Y), Y.nbytes
    del Y
    for name, share in (("x.npy", 6), ("x.parquet", 2)):  # Parquet comes in pieces of 4 MB
        source = thresher.open(tmp_path / name, batch_size=256)
        fitted, most = OnlineRobustNMF(2, n_jobs=1, random_state=0, verbose=0), 0

        def watch(step):
            nonlocal most
            most = max(most, pa.total_allocated_bytes())

        fitted.fit(next(iter(source)))  # what is loaded once is not counted
        fitted.set_params(callbacks=[watch])
        tracemalloc.start()
        fitted.fit(source)
        fitted.score_samples(source, write=tmp_path / "s.npy")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert np.load(tmp_path / "s.npy").shape == (n,)
        assert peak < size / share, peak
        assert most < size / share, most


# ------------------------------------------------------------------------------- prefetching


def test_prefetching_reads_few_batches_more_and_leaves_no_thread():
    made = []

    def chunks():
        for start in range(0, N, 4):
            made.append(start)
            yield X[start : start + 4]

    learned = []

    def check(step):
        learned.append(step)
        assert len(made) <= len(learned) + 8

    before = threading.active_count()
    model(batch_size=4, callbacks=[check]).fit(chunks())
    assert len(made) == len(learned) == N // 4
    with suppress(KeyboardInterrupt):
        model(batch_size=4, callbacks=[Interrupt(3)]).fit(chunks())
    assert threading.active_count() == before


def test_an_error_of_a_stream_is_raised_after_the_batches_before_it():
    def chunks():
        yield from (X[start : start + 32] for start in range(0, 96, 32))
        raise OSError("the disk is gone")

    fitted = model()
    with pytest.raises(OSError, match="disk"):
        fitted.fit(chunks())
    assert fitted.n_samples_seen_ == 96


def test_an_error_in_a_file_comes_after_the_batches_before_it(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines() + b'{"c0": "seven"}\n')
    fitted = model()
    with pytest.raises(ValueError, match=f"Line {N + 1}"):
        fitted.fit(thresher.open(path))
    assert fitted.n_samples_seen_ == 128  # what was learned until then is kept


# --------------------------------------------------------------------- plain objects


def test_plain_iterables_and_what_makes_them():
    def chunks():
        return (X[i : i + 32] for i in range(0, N, 32))

    whole = model(shuffle=False, n_passes=2).fit(X)
    np.testing.assert_array_equal(model(n_passes=2).fit(chunks).components_, whole.components_)
    np.testing.assert_array_equal(
        model(n_passes=2).fit(thresher.open(X)).components_, whole.components_
    )
    with pytest.raises(ValueError, match="once"):
        model(n_passes=2).fit(chunks())
    source = thresher.open(chunks())
    assert len(rows(source)) == N
    with pytest.raises(ValueError, match="only once"):
        rows(source)
    half = model(callbacks=[Interrupt(3)])
    with suppress(KeyboardInterrupt):
        half.fit(chunks())
    half.set_params(callbacks=None).resume(chunks())
    np.testing.assert_array_equal(half.components_, model().fit(chunks()).components_)
    mixed = thresher.open(chunks, batch_size=20).shuffled(60)
    assert [len(piece) for piece in mixed] == [20] * 6 + [12]
    np.testing.assert_array_equal(np.sort(rows(mixed), axis=0), np.sort(X, axis=0))


def test_several_starts_read_a_source_several_times(tmp_path):
    np.save(tmp_path / "x.npy", X)
    source = thresher.open(tmp_path / "x.npy")
    given = {"batch_size": 32, "random_state": 0, "verbose": 0, "n_starts": 3, "n_passes": 2}
    of_file = thresher.OnlineNMF(3, **given).fit(source)
    of_array = thresher.OnlineNMF(3, shuffle=False, **given).fit(X)
    np.testing.assert_array_equal(of_file.components_, of_array.components_)


@pytest.mark.parametrize("form", ["csv", "jsonl", "npy"])
def test_standard_input_is_read_once(form, monkeypatch):
    target = io.BytesIO()
    if form == "csv":
        pa.csv.write_csv(table(), target)
    elif form == "npy":
        np.save(target, GAPS)
    data = lines() if form == "jsonl" else target.getvalue()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    source = thresher.open("-", batch_size=32)
    fitted = model().fit(source)
    np.testing.assert_array_equal(
        fitted.components_, model(shuffle=False, n_passes=1).fit(GAPS).components_
    )
    with pytest.raises(ValueError, match="only once"):
        source.load()


def test_texts_in_json_lines_reach_the_tasks(tmp_path):
    texts = ["rain and wind today", "wind and snow", "cats chase dogs", "dogs chase cats"] * 40
    path = tmp_path / "news.jsonl.gz"
    content = "".join(json.dumps({"text": t, "n": i}) + "\n" for i, t in enumerate(texts))
    path.write_bytes(gzip.compress(content.encode()))
    source = thresher.open(path, columns="text", batch_size=50)
    assert source.load() == texts
    given = {"batch_size": 64, "warm_up": 80, "random_state": 0, "verbose": 0}
    one, two = (TopicModel(2, **given).fit(of) for of in (source, iter(texts)))
    np.testing.assert_array_equal(one.components_, two.components_)
    shares, found = one.transform(texts), one.transform(source)
    for _ in range(2):  # read and computed again
        assert [len(each) for each in found] == [50, 50, 50, 10]
        np.testing.assert_array_equal(np.concatenate(list(found)), shares)
    for documents in (source, texts, iter(texts)):
        written = one.transform(documents, write=tmp_path / "shares.parquet")
        np.testing.assert_array_equal(thresher.open(written).load(), shares)
    assert thresher.open(written).names == list(one.get_feature_names_out())
    framed = next(iter(one.set_output(transform="pandas").transform(source)))
    assert list(framed.columns) == list(one.get_feature_names_out())
    assert one.document_topics(iter(texts)) == one.document_topics(texts)
    for given in (source, path):
        detector = NovelDocumentDetector(2, random_state=0, verbose=0)
        steps = list(detector.watch(given, 60))
        assert [len(step.records) for step in steps] == [60, 60, 40]
        assert [record.text for step in steps for record in step.records] == texts


def test_an_automatic_batch_size_learns(tmp_path):
    np.save(tmp_path / "x.npy", X)
    fitted = model().fit(thresher.open(tmp_path / "x.npy", batch_size="auto"))
    assert fitted.n_samples_seen_ == N


# ------------------------------------------------------------------------ refusals


def odd_files(folder):
    np.save(folder / "x.npy", X)
    np.savez(folder / "two.npz", a=X, b=X)
    sparse.save_npz(folder / "csc.npz", THIN.tocsc())
    with_text = table().append_column("city", pa.array(["Oslo"] * N))
    pa.parquet.write_table(with_text, folder / "x.parquet")
    (folder / "ragged.csv").write_text("a,b,c\n1,2,3\n4,5\n")
    (folder / "text.csv").write_text("a,b\n1,x\n2,y\n")
    (folder / "late.csv").write_text("a,b\n" + "1,2\n" * 90_000 + "3,x\n")
    (folder / "bad.jsonl").write_text('{"a": 1}\n{"a": 2')
    (folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:-100])
    (folder / "what.xyz").write_text("?")
    (folder / "empty").mkdir()
    (folder / "sizes").mkdir()
    for number, side in enumerate((4, 4, 5)):
        Image.fromarray(np.zeros((4, side), np.uint8)).save(folder / "sizes" / f"{number}.png")
    (folder / "noise.mp4").write_bytes(bytes(1000))
    (folder / "noise.png").write_bytes(bytes(1000))


UNREADABLE = [
    ("nowhere.csv", None, "nowhere.csv"),
    ("*.feather", None, "pattern"),
    ("empty", None, "no files"),
    ("what.xyz", None, "format="),
    ("two.npz", None, "columns="),
    ("csc.npz", None, "tocsr"),
    ("x.parquet", None, "city"),
    ("x.parquet", "town", "town"),
    ("x.npy", "a", "tables"),
    ("ragged.csv", None, "Line 3"),
    ("text.csv", None, "column 'b'"),
    ("late.csv", None, "'x'"),
    ("bad.jsonl", None, "Line 2"),
    ("cut.npy", None, "too early"),
    ("sizes", None, "size="),
    ("noise.mp4", None, "video"),
    ("noise.png", None, "image"),
]


@pytest.fixture
def odd(tmp_path):
    odd_files(tmp_path)
    return tmp_path


def test_files_that_cannot_be_read_are_refused(odd):
    for name, columns, keyword in UNREADABLE:
        with pytest.raises((ValueError, FileNotFoundError), match=keyword):
            thresher.open(odd / name, columns).load()
    np.testing.assert_array_equal(thresher.open(odd / "two.npz", columns="b").load(), X)
    assert thresher.open(odd / "sizes", size=(4, 4)).load().shape == (3, 16)


def test_wrong_calls_are_refused(odd, monkeypatch):
    source = thresher.open(odd / "x.npy")
    fitted = model().fit(source)
    named = model().fit(thresher.open(odd / "x.parquet", NAMES))
    turned = thresher.open(odd / "x.parquet", NAMES[::-1])
    for keyword, call in [
        ("partial_fit", lambda: fitted.fit(source, sample_weight=np.ones(N))),
        ("array", lambda: fitted.partial_fit(source)),
        ("load", lambda: thresher.RobustNMF(3).fit(source)),
        ("thresher.open", lambda: fitted.fit("x.npy")),
        ("order", lambda: fitted.resume(source.shuffled(9))),
        ("source changed", lambda: fitted.resume(thresher.open(odd / "two.npz", "a"))),
        ("batch size", lambda: fitted.resume(source.in_batches(9))),
        ("kind of data", lambda: fitted.resume(X)),
        ("kind of data", lambda: model(shuffle=False).fit(X).resume(source)),
        ("names", lambda: named.transform(turned)),
        ("low_rank", lambda: fitted.separate(source, write=odd / "a.npy")),
        ("being read", lambda: fitted.transform(source, write=odd / "x.npy")),
        (".npy", lambda: fitted.transform(source, write=odd / "x.exe")),
        ("one path", lambda: fitted.transform(source, write={"a": "b"})),
        ("make it", lambda: fitted.transform(source, write=odd / "no" / "x.npy")),
        ("shape", lambda: fitted.transform(source, write=np.empty((5, 3)))),
        ("pictures", lambda: fitted.transform(source, write=odd / "c.mp4")),
        ("int", lambda: thresher.open(7)),
        ("window", lambda: source.shuffled(-1)),
    ]:
        with pytest.raises((ValueError, TypeError, FileNotFoundError), match=keyword):
            call()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install"):
        thresher.open(odd / "x.parquet")
    assert not list(odd.glob(".thresher*"))


def test_the_page_on_sources_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page("docs/guide/sources.md")
    assert np.load("codes.npy").shape == (20_000, 4)
