"""A second evaluator of logical plans, tuple by tuple in plain Python: slow, obvious, without Panes' operators.

values.py       the values of rows: order, equality, text to compare by
expressions.py  scalar expressions over one row
aggregates.py   aggregates over a list of values
over.py         functions of OVER over a sorted partition
windows.py      the tuples that a window holds at an instant
relations.py    the relation of a plan at an instant
streams.py      the stream of an output operator
"""
