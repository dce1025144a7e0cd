"""PSoup's ranked tree: the greatest (or least) of any range of a sequence, in a logarithmic number of steps.

The tree is binary and lies in one array: node i stands for the nodes 2i and 2i + 1, the n leaves have the numbers
n to 2n - 1, and node 1 is the root. So the inner nodes are n numbers, of which the first is not used: one more
column beside the leaves. n need not be a power of two: a range is then put together from other nodes, but never
from one that reaches beyond it.

Many ranges are looked at together, one level of the tree at a time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


def ranked_tree(leaves: Ranks) -> Ranks:
    """The inner nodes over leaves: each is the greatest of what is below it.

    >>> ranked_tree(np.array([3, 9, 4, 1], np.int32)).tolist()
    [0, 9, 9, 4]
    """
    count = len(leaves)
    nodes = np.zeros(2 * count, np.int32)
    nodes[count:] = leaves
    high = count
    while high > 1:
        # The children of nodes low to high - 1 all have numbers of at least high.
        low = (high + 1) // 2
        below = nodes[2 * low : 2 * high]
        np.maximum(below[::2], below[1::2], out=nodes[low:high])
        high = low
    return nodes[:count]


def greatest_of(inner: Ranks, leaves: Ranks, begins: Places, ends: Places, nothing: int) -> Ranks:
    """The greatest leaf from each begin to before the end of the same number; `nothing` where there is none.

    >>> leaves = np.array([3, 9, 4, 1], np.int32)
    >>> greatest_of(ranked_tree(leaves), leaves, np.array([0, 2, 1]), np.array([4, 4, 1]), -1).tolist()
    [9, 4, -1]
    """
    count = len(leaves)
    found = np.full(len(begins), nothing, np.int32)
    low, high = begins + count, np.maximum(begins, ends) + count
    nodes, first = leaves, count
    while (low < high).any():
        # A node that is a right child, or one left of a bound that is, is not covered by its parent.
        for is_odd, numbers in (((low & 1) == 1, low), ((high & 1) == 1, high - 1)):
            some = is_odd & (low < high)
            if some.any():
                found[some] = np.maximum(found[some], nodes[numbers[some] - first])
        low, high = (low + 1) >> 1, high >> 1
        nodes, first = inner, 0
    return found
