"""All pairs: every two parts that can meet in a model do, and no result is wrong.

`slots` lists, from the registry, what the parameters of an estimator can be; `covering` makes few
cases in which every pair of values occurs; `case` makes the model and the data of a case;
`checks` compares what comes of it with the statements in `tests/statements.py`.
"""
