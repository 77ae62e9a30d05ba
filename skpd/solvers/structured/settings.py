"""The settings of the methods for structured losses, each with its unit and its reason."""

from ..certificate_schedule import ScheduleSettings

SCHEDULE = ScheduleSettings(patience=200)


class BundleSettings:
    """Settings of the cutting-plane method, which no proof depends on."""

    # The master problem is solved to this share of the remaining gap, or of the requested one if
    # that is larger, as more accuracy would hardly change the next plane.
    master_share: float = 0.05
    # Planes without a share in this number of successive solutions are dropped.
    patience: int = 30
    # Shares of a plane below this count as 0
    least_share: float = 1e-12
    # Objective values of the line search from the best model to the minimiser of the planes
    search: int = 7
    # The next plane touches beyond the best point, by this share of the remaining line.
    beyond: float = 0.1

    # The weight of the distance from the best model, for penalties that are not strongly convex.
    # If the decrease of the objective is at least this share of the predicted one, the planes are
    # accurate and the weight decreases; below a second share it increases. If the predicted
    # decrease is below the second share of the gap, the distance prevents progress, and its weight
    # decreases by a factor.
    right: float = 0.5
    little: float = 0.1
    farther: float = 0.3
    nearer: float = 2.0
    release: float = 0.1
    # With half the squared norm, the most changes of the active set, of which fits of 500 rows
    # have taken up to about 50, and rounding errors may cause any number
    active_set_steps: int = 200

    # The number of master problems without a solution, because of rounding, after which a run ends
    failures: int = 10


SETTINGS = BundleSettings()


class GradientSettings:
    """Settings of the methods for soft maxima, which no proof depends on."""

    # Steps that cost about as much as all Newton steps, for which L-BFGS is tried before these: on
    # independent features it takes a fifth of their time, on correlated ones up to 100 times
    trial: int = 40


GRADIENTS = GradientSettings()
