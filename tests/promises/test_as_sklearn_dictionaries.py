"""scikit-learn's own tests of dictionary learning, run on `OnlineRobustPCA`."""

import pytest

from promises.adapters import collected, with_ours

# Some tests fit noise without a seed, which no small dictionary explains.
pytestmark = pytest.mark.filterwarnings("ignore::thresher.engine.UnexplainedWarning")

_FUNCTION = "tests functions or SparseCoder of scikit-learn; Thresher has classes only"
_OTHER_CODES = "tests sparse codes; those of OnlineRobustPCA are dense and of either sign"

EXCEPTIONS = {
    "test_(sparse_|update_dict|cd_work)": _FUNCTION,
    "test_dict_learning_(lars_positive|numerical|dtype)": _FUNCTION,
    "test_dict_learning_online_(lars|positivity|verbosity|numerical|dtype|shapes)": _FUNCTION,
    "test_max_iter": _FUNCTION,
    "test_dict_learning_(positivity|lars_|nonzero|split|reconstruction|lassocd)": _OTHER_CODES,
    "test_minibatch_dictionary_learning_(positivity|lars)": _OTHER_CODES,
    "test_minibatch_dictionary_learning_dtype_match": "asserts private statistics of scikit-learn",
    "test_dict_learning_online_initialization": "makes no pass, and n_passes=0 is refused here",
}


globals().update(collected(with_ours("sklearn.decomposition.tests.test_dict_learning"), EXCEPTIONS))
