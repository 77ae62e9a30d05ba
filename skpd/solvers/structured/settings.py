"""The tuned numbers of the methods for structured losses: each with its unit and its reason."""

from dataclasses import dataclass

__all__ = ["GRADIENTS", "SETTINGS", "BundleSettings", "GradientSettings"]


@dataclass(frozen=True)
class BundleSettings:
    """Numbers of the cutting-plane method. None has a part in a proof."""

    # The gap between the best model and the planes, in units of that asked for, at which a
    # certificate may be small enough; else there is one every so many iterations, so that what
    # was reached is not lost.
    near_goal: float = 1.0
    check_every: int = 20
    # The problem that the planes leave is solved to this share of the gap that is left, or of that
    # asked for, whatever is larger: more would not change where the next plane is.
    master_share: float = 0.05
    # Iterations of its interior-point method at most, which takes some 10 to 30
    master_iterations: int = 80
    # and without its gap falling below this share of the least one
    master_patience: int = 8
    master_progress: float = 0.9
    # Planes without a part in so many solutions in a row are dropped.
    patience: int = 30
    # Directions of the basis of the planes' slopes, over the number of planes, from which on it is
    # made anew without those of planes that were dropped.
    idle_directions: float = 2.0
    # Shares of a plane below this, of 1, are rounding and what interior points leave of 0.
    least_share: float = 1e-12
    # Golden sections on the way from the best model to the minimiser of the planes
    search: int = 8
    # The next plane touches beyond the best point there, by this share of what is left of the way.
    beyond: float = 0.1

    # The weight of the distance from the best model, which penalties need that are not strongly
    # convex. The planes are right where the objective falls by this share of what they say, and
    # wrong below the other; then steps may be longer, or shorter.
    right: float = 0.5
    wrong: float = 0.1
    farther: float = 0.3
    nearer: float = 2.0
    # Where planes and distance promise less than this share of the gap, the distance hides the
    # least of the planes: its weight falls by the factor.
    hidden: float = 0.1
    release: float = 0.1
    # Iterations without progress, at least, after which the run ends unfinished (`Monitor.watch`)
    run_patience: int = 200
    # Problems of the planes that rounding may leave without a solution before the run ends
    failures: int = 10


SETTINGS = BundleSettings()


@dataclass(frozen=True)
class GradientSettings:
    """Numbers of the methods for soft maxima. None has a part in a proof."""

    # Pairs of steps and gradients that L-BFGS keeps: fewer take more gradients, and more than
    # these hardly save any.
    memory: int = 20
    # L-BFGS is begun anew so often at most where rounding ends its line search too early.
    restarts: int = 20
    # Steps from one certificate to the next, which costs about as much as some steps
    check_every: int = 20
    # The curvature that a step of proximal gradients assumes falls by this factor from one to the
    # next, and doubles, so often at most, where it was too small.
    longer: float = 0.9
    doublings: int = 100


GRADIENTS = GradientSettings()
