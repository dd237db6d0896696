"""Which tokens and places stand out: planted ones do, and in labels without a law none do."""

from __future__ import annotations

import numpy as np
from learner_tables import shuffled, table_of

from specht.forecasts.where import where_it_looks


def planted(seed=0, rows=200):
    """The fourth of six tokens decides, and whether it is the token b."""
    x = np.random.default_rng(seed).integers(4, size=(rows, 6))
    table = table_of(x, (x[:, 3] == 1).astype(int), 4)
    facts = table.facts.__class__(**vars(table.facts) | {"shortest": 6, "longest": 6})
    return type(table)(**vars(table) | {"facts": facts})


def test_a_planted_place_and_token_stand_out():
    where = where_it_looks(planted(), seed=0)
    assert where is not None
    assert [one.name for one in where.places] == ["token 4"]
    assert where.tokens[0].name == "b"
    assert where.tokens[0].ratio > 1.2


def test_nothing_stands_out_of_labels_without_a_law():
    said = [where_it_looks(shuffled(planted(seed), seed), seed=0) for seed in range(3)]
    assert sum(len(one.places) + len(one.tokens) for one in said if one is not None) <= 1


def test_rows_that_all_have_one_label_say_nothing():
    x = np.random.default_rng(0).integers(4, size=(600, 6))
    assert where_it_looks(table_of(x, (np.arange(600) == 3).astype(int), 4), seed=0) is None
