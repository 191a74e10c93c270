"""scikit-learn's own tests of dictionary learning."""

from promises.adapters import collected, with_ours

globals().update(collected(with_ours("sklearn.decomposition.tests.test_dict_learning")))
