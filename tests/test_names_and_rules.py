"""Names become parts in one place, and every rule of a parameter draws its line in a sentence."""

import numpy as np
import pytest
from scipy import sparse

from thresher import LossShift
from thresher.estimators.changing import _same as same_choice
from thresher.estimators.changing import _told
from thresher.estimators.growing import _members, _rows
from thresher.estimators.parameters import (
    RULES,
    _same,
    are_the_same,
    check_parameter,
    check_parameters,
    defaults_of,
    given_to,
    is_number,
    is_whole,
    require_positive,
)
from thresher.estimators.registry import (
    AVERAGING_SHUFFLED,
    DIVERGENCES,
    FORGETTING_IN_ORDER,
    FORGETTING_RATIOS,
    FORGETTING_SHUFFLED,
    INITS,
    SETS,
    Divergence,
    check_signs,
    frozen_mask,
    named_atoms,
    named_codes,
    named_detector,
    named_divergence,
    named_forgetting,
    named_graph,
    named_half_life,
    named_loss,
    named_outlier_weight,
    named_penalty,
    named_positive,
    named_regulariser,
    named_scaling,
    named_set,
    named_signed_weight,
)
from thresher.learning import (
    FixedWeight,
    HalfLife,
    NoiseWeight,
    OwnForgetting,
    PlainAverage,
    PowerForgetting,
    RangeWeight,
)
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Envelope,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    SquaredL2,
)
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso, GroupNorm
from thresher.sets import (
    Box,
    CoveredBox,
    GroupBall,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Reals,
    Simplex,
)

# ------------------------------------------------------------------------------ parameters

RIGHT_AND_WRONG = {
    "batch_size": ([1, np.int64(5)], [0, -1, 1.0, True, "1", None]),
    "callbacks": ([[], (print,), iter([1])], [print, [1], [print, None], 3]),
    "cardinality": ([0, 5, 0.0, 0.999], [1.0, -1, -0.1, 1.5, True, np.nan]),
    "coverage": ([1e-9, 0.999], [0, 1, 0.0, 1.0, -0.1, True, np.nan]),
    "graph_weight": ([0, 0.0, 1e300], [-1e-300, np.inf, np.nan, True, "0"]),
    "n_jobs": ([1, -1, np.int32(4)], [0, -2, 1.0, True, "all"]),
    "n_new_atoms": ([0, 3], [-1, 0.0, True]),
    "no_reading": ([-999, [0.5, -1], (3,), np.array([1.0])], ["-999", [], [None], np.nan, True]),
    "outlier_bound": ([1e-300, np.inf, 3], [0, -1.0, np.nan, True, "1"]),
    "radius": ([1e-300, 2], [0, np.inf, -1, True]),
    "random_state": (
        [0, 2**32 - 1, np.random.RandomState(0), np.random],
        [-1, 2**32, 1.0, True, np.random.default_rng(0)],
    ),
    "shuffle": ([True, False, np.True_], [0, 1, "yes", None]),
    "threshold": ([0, -5.5], [np.nan, np.inf, True, "1"]),
    "tol": ([0, 0.0, 1.0], [-1e-300, np.inf, np.nan, True]),
    "verbose": ([0, 1, 2, True, False, np.True_], [-1, 1.0, "1", None]),
    "missing": (["zeros"], ["zero", 0, np.nan]),
}
WORDS = {
    "batch_size": "a positive integer",
    "callbacks": "a list of functions; put brackets around a single one",
    "cardinality": "a share of the entries below 1, or a whole number of them",
    "coverage": "a number between 0 and 1",
    "graph_weight": "a finite number, 0 or more",
    "n_jobs": "a positive number of threads, or -1 or None for all cores",
    "n_new_atoms": "a whole number, 0 or more",
    "no_reading": "a finite number, or a list of some",
    "outlier_bound": "a positive number",
    "radius": "a positive number",
    "random_state": "an integer from 0 to 4294967295, a RandomState, or None",
    "shuffle": "True or False",
    "threshold": "a finite number",
    "tol": r"a finite number, 0 or more \(0 never stops by it\)",
    "verbose": r"0 \(silent\) or 1 \(a progress bar\)",
    "missing": "'zeros', for what sparse samples do not store,",
}


@pytest.mark.parametrize("name", RIGHT_AND_WRONG)
def test_a_rule_draws_its_line_and_says_what_would_work(name):
    good, bad = RIGHT_AND_WRONG[name]
    for value in good:
        assert RULES[name](value) is None, value
        check_parameter(name, value, RULES[name])
    for value in bad:
        with pytest.raises(ValueError, match=f"must be {WORDS[name]}"):
            check_parameter(name, value, RULES[name])


@pytest.mark.parametrize(
    ("like", "names"),
    [
        ("batch_size", "max_iter max_words n_components n_frames n_neighbors n_nonzero n_passes "
         "n_segments n_starts n_superpixels n_words patience warm_up"),
        ("coverage", "false_alarm_rate fdr share top_share"),
        ("graph_weight", "square_weight zero_weight"),
        ("radius", "feature_scale location_scale"),
        ("shuffle", "align shadows causal keep_texts robust whiten"),
    ],
)  # fmt: skip
def test_one_kind_of_number_has_one_rule(like, names):
    assert all(RULES[name] is RULES[like] for name in names.split())


def test_every_rule_was_looked_at():
    kinds = {RULES[name] for name in RIGHT_AND_WRONG}
    assert {RULES[name] for name in RULES} == kinds


def test_none_is_offered_where_it_is_the_default():
    class Model:
        def __init__(self, n_passes=None, batch_size=256, random_state=None, own=3):
            self.n_passes, self.batch_size = n_passes, batch_size
            self.random_state, self.own = random_state, own

    check_parameters(Model())
    check_parameters(Model(own="anything"))
    with pytest.raises(ValueError, match=r"^n_passes=0 must be a positive integer or None\.$"):
        check_parameters(Model(n_passes=0))
    with pytest.raises(ValueError, match=r"^batch_size=None must be a positive integer\.$"):
        check_parameters(Model(batch_size=None))
    with pytest.raises(ValueError, match=r"a RandomState, or None\.$"):
        check_parameters(Model(random_state=-1))
    model = Model()
    assert defaults_of(model) == {
        "n_passes": None,
        "batch_size": 256,
        "random_state": None,
        "own": 3,
    }
    assert given_to(model) == (None, 256, None, 3)

    class One:
        def __init__(self, tol=0.5):
            self.tol = tol

    assert given_to(One(0.25)) == (0.25,)
    with pytest.raises(ValueError, match=r"^size=0 must be a positive integer\.$"):
        require_positive("size", 0)


def test_whole_numbers_and_numbers():
    assert [is_whole(v) for v in (1, np.int8(1), 0, 1.0, True)] == [True, True, False, False, False]
    assert is_whole(0, 0)
    assert not is_whole(-1, 0)
    assert [is_number(v) for v in (1, 0.5, np.float32(2), np.inf, np.nan, True, "1", 1j)] == [
        True, True, True, False, False, False, False, False,
    ]  # fmt: skip


def test_what_counts_as_the_same_parameter():
    S = sparse.csr_array(np.eye(3))
    same = [
        (1, 1), (None, None), ([1, 2], [1, 2]), (np.ones(2), np.ones(2)),
        ([1, 2], np.array([1, 2])), (S, S.copy()), (S, sparse.coo_array(np.eye(3))),
        (L1(1), ElasticNet(1)), ("a", "a"),
    ]  # fmt: skip
    other = [
        (1, 2), (None, 1), ([1, 2], [1, 3]), (np.ones(2), np.ones(3)), ([1, 2], np.array([1, 3])),
        (S, 2 * S), (S, sparse.csr_array(np.eye(4))), (S, None), (S, 3), (L1(1), L1(2)), ("a", "b"),
    ]  # fmt: skip
    assert all(_same(a, b) and _same(b, a) for a, b in same)
    assert not any(_same(a, b) or _same(b, a) for a, b in other)

    class Stubborn:
        def __eq__(self, other):
            raise TypeError

        __hash__ = None

    assert not _same(Stubborn(), 1)
    one = object()
    assert are_the_same((one, 1), (one, 1))
    assert not are_the_same((one,), (one, 1))
    assert not are_the_same((one, []), (one, []))


def test_changes_are_told_as_numbers():
    assert _told(None) == np.inf
    assert _told(3) == 3.0
    assert np.isnan(_told("auto"))
    assert np.isnan(_told(print))
    assert same_choice(1, 1.0)
    assert same_choice("auto", "auto")
    assert same_choice(print, print)
    assert not same_choice("auto", None)
    assert not same_choice(1, 2)
    assert not same_choice(HalfLife(3), HalfLife(3))  # schedules are, if they are one object


# ------------------------------------------------------------------------------ names


def test_every_name_stands_for_its_part():
    assert {name: type(make()) for name, make in SETS.items()} == {
        "nonnegative": NonnegativeOrthant, "l2_ball": NonnegativeL2Ball,
        "l1_ball": NonnegativeL1Ball, "simplex": Simplex, "box": Box,
        "elastic_net_ball": NonnegativeElasticNetBall, "covered_box": CoveredBox,
    }  # fmt: skip
    for name, make in SETS.items():
        assert named_set("code_set", name) == make()
    assert {name: make() for name, make in DIVERGENCES.items()} == {
        "squared_l2": SquaredL2(), "kl": KullbackLeibler(), "is": ItakuraSaito(),
        "hellinger": Hellinger(), "l1": L1Distance(), "l2": L2Distance(),
    }  # fmt: skip
    for name, make in DIVERGENCES.items():
        assert named_divergence(name, None).loss(7.0) == make()
    assert INITS["auto"] is None
    assert INITS["random"] == INITS["uniform"] == "uniform"
    assert all(INITS[name] == name for name in ("mean", "medians", "samples", "half-normal"))


def test_divergences_and_their_parameters():
    assert named_divergence("alpha", 0.3).loss(1.0) == AlphaDivergence(0.3)
    assert named_divergence("beta", 1.5).loss(1.0) == BetaDivergence(1.5)
    assert named_divergence("mahalanobis", np.eye(2)).loss(1.0).curvature == 1
    own = Huber(0.3)
    assert named_divergence(own, None).loss(9.0) is own
    huber = named_divergence("huber", 0.5)
    assert huber.threshold == FixedWeight(0.5)
    assert huber.loss(0.5) == Huber(0.5)
    assert named_divergence("huber", None).threshold == NoiseWeight()
    smooth = named_divergence("kl", None)
    assert smooth.threshold == FixedWeight(1.0)
    assert smooth.dictionary_loss is None
    assert smooth.with_kinks() is smooth
    kinked = named_divergence("l1", None)
    assert kinked.dictionary_loss(0.25) == L1Distance().rounded(0.25)
    bare = kinked.with_kinks()
    assert bare.dictionary_loss is None
    assert bare.loss(1.0) == L1Distance()
    assert bare.threshold == Divergence(bare.loss).threshold


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: named_divergence("alpha", None), "'alpha' needs divergence_parameter: its α"),
        (lambda: named_divergence("beta", None), "needs divergence_parameter: its β"),
        (lambda: named_divergence("mahalanobis", None), "a positive definite matrix"),
        (lambda: named_divergence("kl", 1.0), "takes no parameter; leave it out"),
        (lambda: named_divergence(SquaredL2(), 1.0), "takes no parameter; leave it out"),
        (lambda: named_divergence("huber", 0), "threshold of 'huber' must be a positive"),
        (lambda: named_divergence("huber", "1"), "threshold of 'huber' must be a positive"),
        (lambda: named_divergence("nothing", None), "use one of .*'huber'.*, or a part"),
        (lambda: named_divergence(3, None), "divergence=3 is not known"),
        (lambda: named_set("code_set", "ball"), "code_set='ball' is not known; use one of 'nonneg"),
        (lambda: named_set("dictionary_set", "ball"), "use one of 'auto', 'nonnegative'"),
        (lambda: named_set("code_set", 3), "code_set=3 is not known"),
        (lambda: named_penalty("code_penalty", -1), "code_penalty=-1 is not a penalty"),
        (lambda: named_penalty("code_penalty", True), "is not a penalty"),
        (lambda: named_codes(GroupBall(), None), "ties the codes of several samples"),
        (lambda: named_codes("nonnegative", GroupNorm(1.0, of_rows=True)), "ties the codes"),
        (lambda: named_forgetting(0, False), "forgetting=0 is not known"),
        (lambda: named_forgetting(HalfLife, False), "is not known; use 'auto', None for the plain"),
        (lambda: named_forgetting("never", False), "a positive half-life in samples"),
        (lambda: named_half_life(0), "forgetting=0 is not known; use 'auto' or None for streams"),
        (lambda: named_half_life(PlainAverage()), "a positive half-life in samples"),
        (lambda: named_detector(LossShift), "is not known; use None, 'auto'"),
        (lambda: named_detector("river"), "drift='river' is not known"),
        (lambda: named_outlier_weight(0), "outlier_weight=0 is not known; use 'auto', 'mad'"),
        (lambda: named_signed_weight("median"), "outlier_weight='median' is not known"),
        (lambda: named_positive("ridge", 0, 1.0), "ridge=0 must be a positive number, or 'auto'"),
        (lambda: named_positive("ridge", None, 1.0), "ridge=None must be a positive number"),
        (lambda: named_loss("l2", "free", None), "outlier_penalty='l2' is not known"),
        (lambda: named_loss("l1", "negative", None), "use one of 'free', 'nonnegative'"),
        (lambda: named_loss("l1", 1, None), "outlier_sign=1 is not known"),
        (lambda: named_scaling("sum"), "scale_samples='sum' must be None or 'max'"),
        (lambda: named_scaling(True), "scale_samples=True must be None or 'max'"),
    ],
)
def test_names_that_are_none_are_refused_with_those_that_are(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_penalties_and_regularisers_by_number():
    assert named_penalty("code_penalty", None) == ElasticNet()
    assert named_penalty("code_penalty", 0) == ElasticNet()
    assert named_penalty("code_penalty", 0.3) == L1(0.3)
    part = GroupLasso(1.0)
    assert named_penalty("code_penalty", part) is part
    assert named_regulariser("code", "simplex", 0.3) == Constrained(L1(0.3), Simplex())
    assert named_codes("simplex", 0.3) == Constrained(L1(0.3), Simplex())


@pytest.mark.parametrize(
    ("codes", "penalty", "published", "atoms"),
    [
        ("nonnegative", None, None, NonnegativeL2Ball()),
        ("nonnegative", 0.1, None, NonnegativeL2Ball()),
        ("simplex", None, None, NonnegativeOrthant()),
        ("simplex", 0.1, None, NonnegativeOrthant()),  # rows cannot shrink
        ("l2_ball", None, None, NonnegativeOrthant()),
        ("l2_ball", 0.1, None, NonnegativeL2Ball()),  # priced codes could
        ("simplex", None, CoveredBox(), CoveredBox()),
        ("nonnegative", None, CoveredBox(), CoveredBox()),
    ],
)
def test_atoms_take_the_size_that_codes_leave(codes, penalty, published, atoms):
    given = named_codes(codes, penalty)
    for auto in ("auto", None):
        assert named_atoms(auto, None, given, published).region == atoms
    assert named_atoms("simplex", 0.2, given, published) == Constrained(L1(0.2), Simplex())


def test_signs_suit_the_loss():
    plain, signed = Constrained(), Constrained(region=Reals())
    for loss in (SquaredL2(), Huber(1.0)):
        check_signs(loss, signed, signed)
    check_signs(KullbackLeibler(), plain, plain)
    with pytest.raises(ValueError, match="and code_set allows them"):
        check_signs(KullbackLeibler(), signed, plain)
    with pytest.raises(ValueError, match="and dictionary_set allows them"):
        check_signs(KullbackLeibler(), plain, signed)
    with pytest.raises(ValueError, match="and code_set allows them"):
        check_signs(KullbackLeibler(), signed, signed)


def test_how_the_past_counts():
    """The figures are those of docs/lab/learner.md and docs/guide/divergences.md."""
    assert PowerForgetting(60.0) == FORGETTING_SHUFFLED
    assert PowerForgetting(3.0) == FORGETTING_IN_ORDER
    assert PowerForgetting(10.0) == FORGETTING_RATIOS
    assert AVERAGING_SHUFFLED == 10.0
    assert named_forgetting("auto", False) == FORGETTING_SHUFFLED
    assert named_forgetting("auto", True) == FORGETTING_IN_ORDER
    assert named_forgetting("auto", False, shuffled=FORGETTING_RATIOS) == FORGETTING_RATIOS
    assert named_forgetting("auto", True, shuffled=FORGETTING_RATIOS) == FORGETTING_IN_ORDER
    assert named_forgetting("auto", False, published=True) == PlainAverage()
    assert named_forgetting(None, False) == PlainAverage()
    assert named_forgetting(100, True, published=True) == HalfLife(100.0)
    part = HalfLife(5)
    assert named_forgetting(part, False) is part
    assert isinstance(named_forgetting(lambda n, seen: 0.5, False), OwnForgetting)
    assert named_half_life("auto") is named_half_life(None) is None
    assert named_half_life(7) == HalfLife(7.0)
    assert named_half_life(part) is part


def test_outliers_by_name():
    assert named_outlier_weight("auto") == RangeWeight()
    assert named_outlier_weight("mad") == NoiseWeight()
    assert named_outlier_weight(0.5) == FixedWeight(0.5)
    assert named_signed_weight("auto") == RangeWeight(0.5)
    assert named_signed_weight("mad") == NoiseWeight()
    assert named_positive("ridge", "auto", 4.0) == 4.0
    assert named_positive("ridge", 2, 4.0) == 2.0
    assert named_loss("l1", "free", None)(0.3) == Envelope(L1(0.3), Box(-np.inf, np.inf))
    assert named_loss("l1", "nonnegative", 2)(0.3) == Envelope(L1(0.3), Box(0.0, 2.0))
    assert named_loss("samples", "free", 2)(0.3) == Envelope(GroupLasso(0.3), Box(-2.0, 2.0))
    assert named_loss(ElasticNet(2, 4), "free", None)(0.5).penalty == ElasticNet(1, 2)
    assert named_scaling("max") is True
    assert named_scaling(None) is False


def test_detectors_by_name():
    class Like:
        drift_detected = False

        def update(self, x):
            return self

    own = Like()
    assert named_detector(None) is None
    assert named_detector("auto") == LossShift()
    assert named_detector(own) is own
    for missing in (type("A", (), {"update": 3, "drift_detected": True})(), type("B", (), {})()):
        with pytest.raises(ValueError, match="update\\(x\\) and drift_detected"):
            named_detector(missing)


def test_graphs_of_neighbours_and_of_similarities():
    X = np.random.default_rng(0).random((5, 3))
    assert named_graph(None, 1.0, X) is None
    graph = named_graph(2, 0.5, X)
    assert graph.weight == 0.5
    given = named_graph(np.ones((5, 5)), 2.0, X)
    assert given.weight == 2.0
    named_graph(1, 1.0, X)
    named_graph(4, 1.0, X)
    for bad, words in (
        (0, "from 1 to 4"),
        (5, "from 1 to 4"),
        (True, r"similarities of shape \(5, 5\)"),
        (np.ones((4, 4)), "similarities of shape"),
        ("all", "is not known"),
    ):
        with pytest.raises(ValueError, match=words):
            named_graph(bad, 1.0, X)


def test_frozen_atoms_by_number_or_by_flag():
    ball = NonnegativeL2Ball()
    assert frozen_mask(None, 4, ball) is None
    assert frozen_mask([], 4, ball) is None
    assert frozen_mask([0, 3], 4, ball).tolist() == [True, False, False, True]
    assert frozen_mask([True, False], 4, ball).tolist() == [True, False, False, False]
    assert frozen_mask([True] * 4, 4, ball).tolist() == [True] * 4
    for bad, words in (
        ([4], "atoms from 0 to 3"),
        ([-1], "atoms from 0 to 3"),
        ([True] * 5, "numbers or 4 flags"),
        ([[0]], "numbers or 4 flags"),
        ([0.0], "numbers or 4 flags"),
        ([[0], [1, 2]], "numbers or 4 flags"),
        ("first", "numbers or 4 flags"),
    ):
        with pytest.raises(ValueError, match=words):
            frozen_mask(bad, 4, ball)
    with pytest.raises(ValueError, match="share one budget"):
        frozen_mask([0], 4, GroupBall())
    assert frozen_mask([], 4, GroupBall()) is None
    assert frozen_mask([0], 2, CoveredBox()) is not None
    assert frozen_mask([0], 2, L2Ball()) is not None


def test_groups_of_atoms_that_join():
    assert _members([[0, 2], [1]], 3).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert _members([0, 2], 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    for bad in ([], [[]], [[0], []], [[3]], [[-1]], [[0], [0]], [[0.0]], [["a"]], 3, [[[0]]]):
        with pytest.raises(ValueError, match="each of 0 to 2"):
            _members(bad, 3)


def test_new_atoms_are_rows_of_the_right_width():
    assert _rows([[1, 2, 3]], 3, True).dtype == np.float64
    assert _rows([[-1, 2, 3]], 3, False).shape == (1, 3)
    _rows([[0, 0, 0]], 3, True)
    for bad, words in (
        ([[1, 2]], "nonnegative rows of 3 columns"),
        ([1, 2, 3], r"got the shape \(3,\)"),
        ([[1, 2, np.inf]], "all finite"),
        ([[-1e-9, 2, 3]], "nonnegative rows"),
        ("atoms", "a number of them"),
        ([[1, 2, 3], [1]], "a number of them"),
    ):
        with pytest.raises(ValueError, match=words):
            _rows(bad, 3, True)
    with pytest.raises(ValueError, match="or rows of 3 columns"):
        _rows([[1, 2]], 3, False)
