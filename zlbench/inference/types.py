"""What goes into the statistics and what comes out: plain values, nothing of files, cards or reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

ALPHA, Q, DELTA = 0.05, 0.05, 0.01
FEWEST_PAIRS = 4
"""Valid pairs below which a row has no verdict."""
FEWEST_CONTROLS = 4
"""Control operators below which nothing is calibrated."""


class Verdict(str, Enum):
    """What may be said of a row or an operator. The value is what people read and files hold."""

    INVALID = "invalid"
    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no difference"
    """The interval lies inside ±delta."""
    NOT_DETECTABLE = "no detectable difference"
    """What can be detected is at most 2 delta, and nothing was."""
    INCONCLUSIVE = "inconclusive"


class Why(str, Enum):
    """Why a row is invalid."""

    FEW_PAIRS = "FEW_PAIRS"
    """Fewer than 4 valid pairs."""
    ORDER_CONFOUNDED = "ORDER_CONFOUNDED"
    """The same side came first in every round."""
    PAIRS_DISTURBED = "PAIRS_DISTURBED"
    """Pairs stayed disturbed after every retry, so that fewer than 4 are valid."""
    NO_LOOK = "NO_LOOK_YET"
    """Rounds are not at their end, and no look at them is due yet."""
    CALIBER = "CALIBER_MISMATCH"
    """The sides were measured in different ways in every round that is left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One row in one valid round; natural logarithms of both sides' values (any unit, both the same).

    Args:
        a_first: whether side A was measured first.
    """

    round: int
    log_a: float
    log_b: float
    a_first: bool

    @property
    def difference(self) -> float:
        """d = ln B - ln A; above 0, B takes longer."""
        return self.log_b - self.log_a


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One row and its valid pairs, in order of the rounds.

    Args:
        key: operator (its directory) and row name; unique in a campaign.
        control: whether the sides run the same code.
        resolution: smallest step of one side's value relative to it (clock tick / value), 0 if it has none to speak of.
        why: set where something else than the pairs themselves makes the row invalid. PAIRS_DISTURBED may be said of
            every row that lost pairs so: it counts where fewer than 4 are left.
        counted: whether it is part of its operator's aggregate; no row of an operator that lacks rows or rounds is.
        rounds_done: so many rounds are finished and others are still to come: it is judged by the looks that were due
            so far, and by none before the first. None where it is at its end.
    """

    key: tuple[str, str]
    pairs: tuple[Pair, ...]
    control: bool = False
    counted: bool = True
    resolution: float = 0.0
    why: Why | None = None
    rounds_done: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How much certainty is asked for.

    Args:
        looks: numbers of rounds at which rows were looked at, with each look's share of alpha. A fixed number of rounds
            is one look with weight 1.
        delta: relative difference below which nobody cares.
    """

    looks: tuple[tuple[int, float], ...]
    alpha: float = ALPHA
    q: float = Q
    delta: float = DELTA


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderEffect:
    """Regression of d on the order (+1: A first): half of what coming second costs, as a logarithm."""

    slope: float
    p: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """What the campaign's rows say together of the variance of one (Smyth 2004).

    Args:
        df: prior degrees of freedom; infinite where all rows are equally noisy, 0 where nothing is shared.
        variance: prior variance of d.
    """

    df: float
    variance: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What equal code shows: subtracted from every row, and its spread between operators added to every error.

    Args:
        bias: mean of the control operators' means, as a logarithm.
        between: standard deviation that is added to each row's error: sqrt(var(D) (1 + 1/K)).
        error: standard error of the bias.
        operators: mean of each control operator.
        used: False with fewer than 4 control operators: the report says `uncalibrated`, and nothing is subtracted.
    """

    used: bool
    bias: float = 0.0
    between: float = 0.0
    error: float = 0.0
    operators: Mapping[str, float] = field(default_factory=dict)

    @property
    def biased(self) -> bool:
        """Whether the bias itself is beyond two of its standard errors: said at the top of a report."""
        return self.used and self.error > 0 and abs(self.bias) > 2 * self.error


@dataclass(frozen=True, kw_only=True, slots=True)
class RowResult:
    """One row. Differences are logarithms, bias subtracted where calibrated; None where there are too few pairs.

    Args:
        n: valid pairs.
        estimate, median: of d; smallest, largest: over rounds.
        low, high: repeated confidence interval of 1 - alpha.
        p: sequential p-value; q: after Benjamini and Hochberg over all valid subject rows.
        sd: of d in this row; moderated: after sharing with the campaign's rows.
        noise_a, noise_b: standard deviation of one side's logarithm over rounds.
        mde: smallest difference that is detected with 80 % power, of this many rounds.
        rounds_needed: about how many rounds a 2 delta difference needs; None unless inconclusive.
        same_sign: rounds whose d has the sign of the estimate; descriptive only.
        floor: 95 % quantile of |mean| of the free pairs of the same side; None with too few.
        flags: words such as ``order-effect``, ``mean≠median``, ``uncalibrated``, ``quantised``.
        what: the verdict in words with its figure: ``no difference beyond ±1 %``,
            ``inconclusive (MDE 3.1 %, needs about 40 rounds)``.
    """

    key: tuple[str, str]
    verdict: Verdict
    what: str
    n: int
    control: bool = False
    why: Why | None = None
    estimate: float | None = None
    median: float | None = None
    smallest: float | None = None
    largest: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    q: float | None = None
    sd: float | None = None
    moderated: float | None = None
    noise_a: float | None = None
    noise_b: float | None = None
    mde: float | None = None
    rounds_needed: int | None = None
    same_sign: int = 0
    floor: float | None = None
    order: OrderEffect | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OpResult:
    """One operator: each round's mean of d over its rows, then a t interval over rounds. The round is the unit.

    Args:
        rounds: rounds in which every row that counts has a pair; rows: rows that count.
        estimate, low, high: logarithms, bias subtracted where calibrated; None where it may not be told.
    """

    op: str
    verdict: Verdict
    what: str
    control: bool = False
    rows: int = 0
    rounds: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    q: float | None = None
    mde: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregate:
    """The campaign: mean over subject operators, with its interval; logarithms. None without a valid operator."""

    operators: int
    estimate: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """Everything that the statistics say of a campaign."""

    settings: Settings
    rows: Mapping[tuple[str, str], RowResult]
    operators: Mapping[str, OpResult]
    campaign: Aggregate
    calibration: Calibration
    prior: Prior | None = None

    def count(self, verdict: Verdict) -> int:
        """Subject rows with this verdict."""
        return sum(row.verdict is verdict and not row.control for row in self.rows.values())
