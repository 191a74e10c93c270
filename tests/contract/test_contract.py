"""Results of every public class stay as they are, unless a commit says that it changes them."""

import warnings

import pytest
from tests.contract.cases import CASES
from tests.contract.samples import differences, read, samples_of

STORED = read()


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_stored(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three batches are too few to converge
        results = CASES[name]()
    assert not differences(samples_of(results), STORED[name], name)


def test_every_stored_sample_has_a_case():
    assert STORED.keys() == CASES.keys()
