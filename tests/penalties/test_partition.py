"""Partitions of the features into groups, in all ways in which they can be given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpd.penalties import GroupLInf
from skpd.penalties.partition import Partition

GIVEN = [  # groups, the number of features, their order, starts and labels
    (2, 6, [0, 1, 2, 3, 4, 5], [0, 2, 4, 6], [0, 0, 1, 1, 2, 2]),
    (np.int32(6), 6, [0, 1, 2, 3, 4, 5], [0, 6], [0] * 6),
    (1, 2, [0, 1], [0, 1, 2], [0, 1]),
    ([1, 3], 4, [0, 1, 2, 3], [0, 1, 4], [0, 1, 1, 1]),
    ((3, 1), 4, [0, 1, 2, 3], [0, 3, 4], [0, 0, 0, 1]),
    (np.array([4]), 4, [0, 1, 2, 3], [0, 4], [0] * 4),
    ([1], 1, [0], [0, 1], [0]),
    ([7], 1, [0], [0, 1], [0]),
    ([2, 1, 2, 1], 4, [0, 2, 1, 3], [0, 2, 4], [0, 1, 0, 1]),
    ([0, 0, 5], 3, [0, 1, 2], [0, 2, 3], [0, 0, 1]),
    ([2, 2], 2, [0, 1], [0, 2], [0, 0]),
    (["b", "a", "b"], 3, [0, 2, 1], [0, 2, 3], [0, 1, 0]),
    (("x",), 1, [0], [0, 1], [0]),
    ([[2, 0], [1, 3]], 4, [2, 0, 1, 3], [0, 2, 4], [0, 1, 0, 1]),
    ([[3], [1, 0, 2]], 4, [3, 1, 0, 2], [0, 1, 4], [1, 1, 1, 0]),
    ([[0, 1, 2]], 3, [0, 1, 2], [0, 3], [0] * 3),
]
REFUSED = [
    (0, 4, "must be at least 1 and divide the number of features, 4"),
    (3, 4, "must be at least 1 and divide"),
    (-1, 4, "must be at least 1"),
    (True, 4, "must be a size"),
    ("ab", 2, "must be a size"),
    ([], 2, "must be a size|miss"),
    (1.0, 2, "must be a size"),
    ([1.0, 1.0], 2, "must be a size"),
    (["a", 1], 2, "must be a size"),
    ([["a"], ["b"]], 2, "must be a size"),
    ([[0, 1], []], 2, "must be a size"),
    ([0, 4], 4, "whose sum is"),
    ([4, 0], 4, "whose sum is"),
    ([5], 4, "whose sum is"),
    ([2, 1], 4, "with the sum 3"),
    ([1, 1, 1], 3, "may be sizes or labels"),
    (["a", "b"], 3, "must hold one for each of the 3 features, got 2"),
    ([[0, 1], [1]], 3, r"overlap at feature 1 \(1 features"),
    ([[0, 1, 0]], 2, "overlap at feature 0"),
    ([[0], [2]], 3, r"miss at feature 1 \(1 features"),
    ([[0, -1]], 2, "from 0 to 1, got -1 to 0"),
    ([[0, 2]], 2, "from 0 to 1, got 0 to 2"),
]


@pytest.mark.parametrize(("groups", "n_features", "order", "starts", "labels"), GIVEN)
def test_partitions(groups, n_features, order, starts, labels):
    found = Partition.of(groups, n_features)
    assert (found.order.tolist(), found.starts.tolist()) == (order, starts)
    assert found.labels.tolist() == labels and found.n_groups == len(starts) - 1


@pytest.mark.parametrize(("groups", "n_features", "message"), REFUSED)
def test_what_is_no_partition(groups, n_features, message):
    with pytest.raises(ValueError, match=message):
        Partition.of(groups, n_features)


def test_functions_of_groups():
    partition = Partition.of([[3, 0], [1], [4, 2]], 5)
    w = np.array([3.0, 0.5, 0.0, -4.0, 0.0])
    assert_allclose(partition.norms(w), [5.0, 0.5, 0.0])
    assert partition.minima(np.array([3.0, 1.0, 2.0, 4.0, 5.0])).tolist() == [3, 1, 2, 3, 2]
    assert partition.per_group(0.3) == 0.3
    assert partition.per_group(np.array([3.0, 1.0, 2.0, 3.0, 2.0])).tolist() == [3, 1, 2]
    assert_allclose(partition.shrink(w, 1.0), [2.4, 0.0, 0.0, -3.2, 0.0])
    assert_allclose(partition.shrink(w, np.array([5.0, 0.1, 0.0])), [0.0, 0.4, 0.0, 0.0, 0.0])
    with pytest.raises(AttributeError):
        partition.order = None


def test_a_penalty_that_was_used_adapts_to_other_features():
    """The prox is 0 inside of the l1 ball, and a group with a nan stays as it is."""
    used = GroupLInf(2).for_n_features(4)
    assert_allclose(used.prox(np.array([3.0, 2.5, 0.1, 0.1]), 1.0), [2.25, 2.25, 0.0, 0.0])
    more = used.for_n_features(6).prox(np.array([0.1, 0.1, 3.0, 2.5, np.nan, 1.0]), 1.0)
    assert_allclose(more, [0.0, 0.0, 2.25, 2.25, np.nan, 1.0])
