"""Which share of its input each query keeps when there is more to do than the machine can do.

A drop box lies above the scan of a stream in one query and lets a share of the tuples pass. What a plan costs
and how many results it gives are functions of these shares. `drop_boxes` finds the shares that fit the capacity
and lose the least; `choose_sheddable_plan` finds the plan that loses the least when it sheds (Ayad and
Naughton, SIGMOD 2004).
"""
