"""What every estimator promises to its users: section 7 of the design, over all classes.

`test_every_estimator` runs the public checks of `thresher.testing` over all estimators and solvers,
and `test_checks_notice` shows that each check notices an estimator that breaks its promise. The
promises, by number, are tested in these files:

1. scikit-learn's conventions: `test_every_estimator`, `test_conventions`, `test_equal_inputs`,
   and scikit-learn's own tests in `test_as_sklearn_nmf` and `test_as_sklearn_dictionaries`
2. rows are encoded independently: `test_every_estimator`, `test_weights`
3. `fit` is `partial_fit` of the same batches: `test_every_estimator`, `test_changed_parameters`
4. additive statistics in float64, same bits for any number of threads: `test_every_estimator`,
   `test_threads`
5. arrays of the user are neither modified nor kept: `test_every_estimator`
6. bounded memory: `test_every_estimator`
7. save, load, resume, interrupts and kills: `test_every_estimator`, `test_persistence`,
   `test_resume_and_callbacks`, `test_kills_and_full_disks`, `test_changed_parameters`
8. missing values, CSR is never densified: `test_every_estimator`, `test_missing_values`,
   `test_equal_inputs`
9. optimal codes or a warning: `test_every_estimator`, `test_units`
10. any unit of the data: `test_every_estimator`, `test_units`
11. refusals change nothing: `test_every_estimator`, `test_refusals`, `test_changed_parameters`
12. untrusted files: `test_forged_files`
13. quality, also on CSR and on features of any scale: `test_quality`, `test_kl_quality`

Beyond the list: `test_weights`, `test_anomalies`, `test_score_entries`, `test_parameters`,
`test_forgetting_and_drift` and `test_details`.
"""
