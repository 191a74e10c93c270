"""Adapters for river pass river's checks and give the results of the models themselves."""

import itertools
import pickle

import numpy as np
import pytest
from river import anomaly, checks, datasets, preprocessing
from sklearn.metrics import roc_auc_score

import thresher
from pages import run_page
from thresher import OnlineNMF, OnlineOrthogonalDictionary, OnlineRobustNMF, RobustNMF
from thresher.river import RiverAnomalyDetector, RiverTransformer


def planted(n_samples):
    """Samples of three components with noise."""
    rng = np.random.default_rng(0)
    components = rng.random((3, 24)) * (rng.random((3, 24)) < 0.5)
    return rng.gamma(1.0, size=(n_samples, 3)) @ components + 0.01 * rng.random((n_samples, 24))


X = planted(96)
NAMES = [f"f{j:02}" for j in range(X.shape[1])]


def ready(kind=OnlineRobustNMF, **given):
    return kind(3, **{"batch_size": 32, "random_state": 0, "verbose": 0, **given})


def dicts(rows=X, names=NAMES):
    return [dict(zip(names, row.tolist(), strict=True)) for row in rows]


def learned(adapter, samples):
    for x in samples:
        adapter.learn_one(x)
    return adapter


class Frauds:
    """Replaces river's data set of anomalies, which it would download."""

    def take(self, n):
        rng = np.random.default_rng(1)
        for x in dicts(planted(n // 4)):
            odd = rng.random() < 0.05
            yield {name: rng.gamma(1.0) if odd else value for name, value in x.items()}, int(odd)


@pytest.mark.parametrize("kind", [RiverTransformer, RiverAnomalyDetector])
def test_rivers_own_checks_pass(kind, monkeypatch):
    monkeypatch.setattr(datasets, "CreditCard", Frauds)
    done = []
    for check in checks.yield_checks(kind(ready())):
        check(kind(ready()))
        done.append(check.__name__)
    wanted = "check_transform_one" if kind is RiverTransformer else "check_roc_auc"
    assert {wanted, "check_emerging_features", "check_bounded_memory_growth"} <= set(done)


def test_batches_of_dicts_are_batches_of_rows():
    plain = ready()
    for start in (0, 32, 64):
        plain.partial_fit(X[start : start + 32])
    adapter = learned(RiverTransformer(ready()), dicts())
    np.testing.assert_array_equal(adapter.model_.components_, plain.components_)
    codes = [list(adapter.transform_one(x).values()) for x in dicts()[:5]]
    np.testing.assert_allclose(codes, plain.transform(X[:5]), rtol=1e-9, atol=1e-12)
    assert list(adapter.transform_one({})) == list(plain.get_feature_names_out())
    detector = learned(RiverAnomalyDetector(ready()), dicts())
    scores = [detector.score_one(x) for x in dicts()[:5]]
    np.testing.assert_allclose(scores, -plain.score_samples(X[:5]), rtol=1e-9)


def test_absent_features_are_missing_values_and_new_ones_grow_the_model():
    few, gaps = X[:32, :20], X[32:64].copy()
    gaps[::2, 3] = np.nan
    plain = ready().partial_fit(few).grow(n_features=24).partial_fit(gaps)
    adapter = learned(RiverTransformer(ready()), dicts(few, NAMES[:20]))
    here = [{n: v for n, v in x.items() if not np.isnan(v)} for x in dicts(gaps)]
    learned(adapter, [dict(reversed(x.items())) for x in here])  # their order does not matter
    np.testing.assert_array_equal(adapter.model_.components_, plain.components_)
    one = np.full((1, 24), np.nan)
    one[0, 5] = 2.0
    got = adapter.transform_one({NAMES[5]: 2.0, NAMES[6]: None, "never seen": 9.0})
    np.testing.assert_array_equal(list(got.values()), plain.transform(one)[0])


def test_absent_words_may_be_zeros():
    counts = np.random.default_rng(0).poisson(0.5, size=(64, 12)).astype(float)
    plain = ready(OnlineNMF, divergence="kl").partial_fit(counts)
    adapter = RiverTransformer(ready(OnlineNMF, divergence="kl", batch_size=64), missing=0.0)
    learned(adapter, [{n: v for n, v in x.items() if v} for x in dicts(counts, NAMES[:12])])
    np.testing.assert_array_equal(adapter.model_.components_, plain.components_)


def test_saved_models_continue_and_pickles_keep_samples_that_wait(tmp_path):
    whole = learned(RiverTransformer(ready()), dicts())
    first = learned(RiverTransformer(ready()), dicts()[:64])
    thresher.save(first.model_, tmp_path / "model")
    again = RiverTransformer(thresher.load(tmp_path / "model"))
    learned(again, dicts()[64:])
    np.testing.assert_array_equal(again.model_.components_, whole.model_.components_)
    waiting = pickle.loads(pickle.dumps(learned(RiverTransformer(ready()), dicts()[:40])))
    learned(waiting, dicts()[40:])
    np.testing.assert_array_equal(waiting.model_.components_, whole.model_.components_)


def test_what_is_refused_changes_nothing():
    adapter = learned(RiverAnomalyDetector(ready()), dicts()[:40])
    before = pickle.dumps(adapter)
    for bad, keyword in (
        ({"f01": "red"}, "OneHotEncoder"),
        ({"f01": -1.0}, "Negative values"),
        ({"f01": float("inf")}, "infinity"),
    ):
        for verb in (adapter.learn_one, adapter.score_one):
            with pytest.raises(ValueError, match=keyword):
                verb(bad)
        assert pickle.dumps(adapter) == before
    with pytest.raises(TypeError, match="online"):
        RiverTransformer(RobustNMF())
    with pytest.raises(ValueError, match="names"):
        RiverTransformer(ready().partial_fit(X))
    orthogonal = RiverTransformer(
        OnlineOrthogonalDictionary(batch_size=8, random_state=0, verbose=0)
    )
    learned(orthogonal, dicts()[:8])
    atoms = orthogonal.model_.components_
    with pytest.raises(ValueError, match="new"):
        learned(orthogonal, [x | {"new": 1.0} for x in dicts()[:8]])
    np.testing.assert_array_equal(orthogonal.model_.components_, atoms)


def test_anomalies_score_higher_in_a_pipeline_and_a_filter():
    stream = list(itertools.islice(Frauds().take(2400), 600))
    model = preprocessing.MaxAbsScaler() | RiverAnomalyDetector(ready())
    scores, odd = [], []
    for x, y in stream:
        scores.append(model.score_one(x))
        odd.append(bool(y))
        model.learn_one(x)
    assert roc_auc_score(odd[200:], scores[200:]) > 0.95
    keeps = anomaly.QuantileFilter(RiverAnomalyDetector(ready()), q=0.95)
    flagged = []
    for x, y in stream:
        flagged.append((keeps.classify(keeps.score_one(x)), bool(y)))
        keeps.learn_one(x)
    told = np.array(flagged[200:])
    assert told[told[:, 1], 0].mean() > 5 * told[~told[:, 1], 0].mean()


def test_the_page_on_river_runs():
    page = run_page("docs/guide/river.md")
    normal = {f"sensor {j}": value for j, value in enumerate([1.0, 1.0, 1.0] @ page["parts"])}
    odd = normal | {"sensor 3": 40.0}
    assert page["detector"].score_one(odd) > 10 * page["detector"].score_one(normal)
