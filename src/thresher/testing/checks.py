"""The promises of the library, one function each, and which of them apply to an estimator."""

from collections.abc import Callable
from typing import Any

from sklearn.utils import get_tags

from thresher.estimators import is_model
from thresher.solvers import name_of
from thresher.testing import conventions, robustness, streaming
from thresher.testing.data import takes

Check = Callable[[Any], None]

SCALE_DEPENDENT_SOLVERS = frozenset(
    {"opgd", "oadmm", "bpgd", "badmm", "oiadmm", "admm", "mu", "aodl"}
)
"""Published solvers that start from, or have constants in, the unit of the data (promise 10)."""

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
    robustness.check_bad_input_changes_nothing,
]

_ONLINE: list[Check] = [
    streaming.check_fit_is_partial_fits,
    streaming.check_uneven_batches,
    streaming.check_stream_is_array,
    streaming.check_order_within_a_batch,
    streaming.check_memory_is_bounded,
]

_ROBUST: list[Check] = [
    robustness.check_separation_adds_up,
    robustness.check_outliers_do_not_move_the_dictionary,
]


def checks_for(estimator: Any) -> list[Check]:
    """Every check that applies to an estimator, by its methods, parameters and tags.

    Any estimator in scikit-learn's manner with ``components_``, `transform`, `inverse_transform`,
    `score` and `score_samples` can be checked; ``init`` and ``random_state``, where it has them.
    """
    tags = get_tags(estimator).input_tags
    solver = name_of(getattr(estimator, "solver", None))
    more: list[tuple[bool, list[Check]]] = [
        (
            solver not in SCALE_DEPENDENT_SOLVERS,
            [robustness.check_scale_of_data_does_not_matter],
        ),
        (hasattr(estimator, "partial_fit"), _ONLINE),
        (hasattr(estimator, "separate"), _ROBUST),
        (hasattr(estimator, "grow") and hasattr(estimator, "partial_fit"), [streaming.check_grow]),
        (hasattr(estimator, "resume"), [streaming.check_resume_gives_the_same_bits]),
        (hasattr(estimator, "calibrate"), [robustness.check_false_alarm_rate]),
        (
            hasattr(estimator, "impute"),
            [
                robustness.check_impute_keeps_what_was_seen,
                conventions.check_frames_keep_index_and_names,
            ],
        ),
        (hasattr(estimator, "score_entries"), [robustness.check_hidden_entries_are_scored]),
        (tags.allow_nan, [robustness.check_missing_entries_do_not_matter]),
        (tags.sparse, [robustness.check_sparse_equals_dense]),
        (
            hasattr(estimator, "certificates") and takes(estimator, "code_max_iter"),
            [robustness.check_codes_are_optimal],
        ),
        (takes(estimator, "callbacks"), [streaming.check_interrupt_leaves_a_model]),
        (takes(estimator, "n_jobs"), [streaming.check_threads_do_not_matter]),
        (is_model(estimator), [streaming.check_save_and_load]),
    ]
    return _EVERYWHERE + [check for applies, checks in more if applies for check in checks]
