"""The settings of coordinate descent, each with its unit and its reason."""


class DualSettings:
    """Settings of dual coordinate descent."""

    # Passes over X before a certificate, which costs about as much as a few passes
    passes: int = 50
    # Passes over X after which Newton steps are expected to be faster, if they are possible
    most_passes: int = 500
    # The ratio of mean and standard deviation above which features are centred beside an
    # intercept: with 2, 1,000 x 1,000 took ten times as many passes. X with more entries than the
    # second number (400 MB) is not copied for it.
    far: float = 1.0
    largest_copy: float = 5e7
    # The cost of an entry of X in a pass, in multiplications of dense vectors
    step_cost: float = 4.0


DUAL = DualSettings()
