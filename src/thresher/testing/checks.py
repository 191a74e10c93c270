"""The promises of the library, one function each, and which of them apply to an estimator."""

from collections.abc import Callable
from typing import Any

from thresher.testing import conventions, robustness, streaming

Check = Callable[[Any], None]

_EVERYWHERE: list[Check] = [
    conventions.check_scikit_learn_agrees,
    conventions.check_dtype_stays,
    conventions.check_pipeline_and_grid_search,
    conventions.check_output_as_frame,
    conventions.check_inputs_of_all_kinds,
    conventions.check_input_is_not_written,
    conventions.check_getters_are_pure,
    conventions.check_seed_decides,
    robustness.check_rows_are_coded_independently,
    robustness.check_missing_entries_do_not_matter,
    robustness.check_impute_keeps_what_was_seen,
    robustness.check_sparse_equals_dense,
    robustness.check_bad_input_changes_nothing,
    robustness.check_scale_of_data_does_not_matter,
    robustness.check_false_alarm_rate,
    streaming.check_save_and_load,
    streaming.check_interrupt_leaves_a_model,
    streaming.check_threads_do_not_matter,
]

_ONLINE: list[Check] = [
    streaming.check_fit_is_partial_fits,
    streaming.check_uneven_batches,
    streaming.check_stream_is_array,
    streaming.check_statistics_add_up,
    streaming.check_memory_is_bounded,
    streaming.check_resume_gives_the_same_bits,
]

_ROBUST: list[Check] = [
    robustness.check_separation_adds_up,
    robustness.check_outliers_do_not_move_the_dictionary,
]


def checks_for(estimator: Any) -> list[Check]:
    """Every check that applies to an estimator, by the methods that it has."""
    checks = list(_EVERYWHERE)
    if hasattr(estimator, "partial_fit"):
        checks += _ONLINE
        checks += [streaming.check_grow] if hasattr(estimator, "grow") else []
    if "max_iter" in estimator.get_params():
        checks.append(robustness.check_codes_are_optimal)
    if hasattr(estimator, "separate"):
        checks += _ROBUST
    return checks
