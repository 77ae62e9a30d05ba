"""Which pairs of losses and penalties a test takes, where all of them would repeat each other."""


def every_fourth_pair(first, second):
    """Each of the first with every fourth of the second, and the other way round."""
    return [
        (one, other)
        for i, one in enumerate(first)
        for j, other in enumerate(second)
        if (i + j) % 4 == 0
    ]
