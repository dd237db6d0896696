r"""How well a sum can be told by someone who sees its digits in no order: the least loss of any predictor that permutations do not change.

Problems are "a b c + d e f =" with $n$ independent uniform digits, and what is asked for are the digits of the sum. A predictor that is
invariant under permutations of what stands before "=" knows the multiset $M$ of the digits and nothing else. The best that it can do for
digit $k$ of the sum is to name its law $p_k(s \mid M)$ over all orders of $M$, so that in nats

$$ \text{loss}_k \ge - \sum_M P(M) \sum_s p_k(s \mid M) \log p_k(s \mid M) , \qquad P(M) = \frac{n!}{\prod_v n_v!}\, 10^{-n} , $$

with $n_v$ the number of digits $v$ in $M$, and it names $\sum_M P(M) \max_s p_k(s \mid M)$ of the digits right at most. Nothing is sampled:
all problems are listed and put together by their multiset.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.sequences import every_sequence

BASE = 10
_MOST = 4_000_000
"""Problems that are listed at most."""


class Laws(NamedTuple):
    """What is known of the digits of a sum, for each of M multisets."""

    multisets: np.ndarray
    """The digits of each, (M, n), sorted."""
    probability: np.ndarray
    """(M,)."""
    digits: np.ndarray
    """Law of each digit of the sum, highest first, (M, places of the sum, base)."""
    sums: np.ndarray
    """Probability of the likeliest sum, (M,)."""


class Floor(NamedTuple):
    """What no predictor that ignores order can do better."""

    losses: np.ndarray
    """Cross-entropy of each digit of the sum in nats, highest first."""
    accuracies: np.ndarray
    """Share of right digits at each place."""
    exact: float
    """Share of sums that are right as a whole."""

    @property
    def loss(self) -> float:
        """Mean over the digits of the sum."""
        return float(self.losses.mean())


def sum_digits(operands: np.ndarray, base: int = BASE) -> np.ndarray:
    """The digits of the sums of two numbers, whose digits are the halves of each row; one place more than the numbers have.

    >>> sum_digits(np.array([[9, 9, 5, 0, 1, 0]])).tolist()
    [[1, 0, 0, 5]]
    """
    digits = operands.shape[1] // 2
    totals = operands.reshape(-1, 2, digits).astype(np.int64).sum(axis=1) @ base ** np.arange(digits - 1, -1, -1)
    return totals[:, None] // base ** np.arange(digits, -1, -1) % base


def laws(digits: int, base: int = BASE) -> Laws:
    """What is known of the sum of two numbers of so many digits, for every multiset of their digits.

    >>> len(laws(3).multisets), laws(1, base=2).digits[:, 1].tolist()
    (5005, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    digits, base = whole_number("digits", digits, at_least=1), whole_number("base", base, at_least=2)
    places = 2 * digits
    if base**places > _MOST:
        raise InputError(f"Numbers of {digits} digits in base {base} make {base**places} problems, more than {_MOST}: take fewer digits.")
    problems = every_sequence(base, places)
    codes, multiset = np.unique(np.sort(problems, axis=1) @ base ** np.arange(places - 1, -1, -1), return_inverse=True)
    orders = np.bincount(multiset)
    sums = sum_digits(problems, base)
    law = [np.bincount(base * multiset + column, minlength=base * len(codes)).reshape(-1, base) for column in sums.T]
    totals = sums @ base ** np.arange(digits, -1, -1)
    several = 2 * base**digits  # more than the largest sum
    pairs, counts = np.unique(several * multiset + totals, return_counts=True)
    likeliest = np.zeros(len(codes))
    np.maximum.at(likeliest, pairs // several, counts)
    return Laws(problems[codes], orders / len(problems), np.stack(law, axis=1) / orders[:, None, None], likeliest / orders)


def floor(digits: int, base: int = BASE) -> Floor:
    """The least losses and the largest accuracies of predictors that ignore order.

    >>> round(floor(1).loss, 12)  # one digit each: their multiset is all that the sum depends on
    0.0
    >>> floor(3).losses.round(2).tolist()
    [0.52, 2.04, 2.06, 1.94]
    """
    known = laws(digits, base)
    logs = np.log(known.digits, out=np.zeros_like(known.digits), where=known.digits > 0.0)
    return Floor(
        losses=-np.einsum("m,mks,mks->k", known.probability, known.digits, logs),
        accuracies=known.probability @ known.digits.max(axis=2),
        exact=float(known.probability @ known.sums),
    )
