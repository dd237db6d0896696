"""The task of selecting tokens and the codes of positions, against enumeration and least squares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences.codes import dual_code, random_codes
from specht.studies.selection.task import Selection


def test_every_set_is_listed_once():
    task = Selection(7, 3, 2)
    assert [tuple(each) for each in task.subsets()] == list(itertools.combinations(range(7), 3))
    assert len(task.subsets()) == task.sets == 35


@pytest.mark.parametrize(("length", "support"), [(6, 2), (6, 5), (8, 1)])
def test_sets_are_uniform(length, support):
    """Both ways of drawing: by going back to what is chosen, and by one pass over all positions."""
    task = Selection(length, support, 1)
    n = 20_000
    drawn = task.draw_sets(np.random.default_rng(0), n)
    assert (np.diff(drawn, axis=1) > 0).all()
    found = np.array([(drawn == each).all(axis=1).sum() for each in task.subsets()])
    assert found.sum() == n
    share = 1 / task.sets
    assert (np.abs(found - n * share) < 4.5 * np.sqrt(n * share * (1 - share))).all()


def test_the_target_is_the_mean_of_the_chosen():
    task = Selection(5, 2, 3)
    tokens, chosen = task.draw(np.random.default_rng(1), 4000)
    expected = np.array([x[list(y)].mean(axis=0) for x, y in zip(tokens, chosen, strict=True)])
    np.testing.assert_allclose(task.target(tokens, chosen), expected, rtol=1e-6)
    losses = 0.5 * (expected**2).sum(axis=1)
    assert abs(losses.mean() - task.trivial_loss) < 4 * losses.std() / np.sqrt(len(losses))


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ((5, 5, 1), "5 of 5 positions are to be selected, which leaves none or too few to choose from"),
        ((5, 9, 1), "take a support below the length"),
        ((5, 0, 1), "support must be a whole number of at least 1, got 0"),
        ((5, 2, 0.5), "dimension must be a whole number of at least 1, got 0.5"),
    ],
)
def test_sizes_that_make_no_task(sizes, sentence):
    with pytest.raises(InputError, match=sentence):
        Selection(*sizes)


def test_too_many_sets_are_not_listed():
    with pytest.raises(InputError, match="T=200 q=3 d=5 has 1313400 sets of positions, more than the 1000000 that are listed"):
        Selection(200, 3, 5).subsets()


def test_codes_are_signs_of_length_one():
    codes = random_codes(np.random.default_rng(0), 40, 7)
    assert codes.shape == (40, 7)
    np.testing.assert_allclose(np.abs(codes), 1 / np.sqrt(40))
    assert abs(codes.mean()) < 5 / np.sqrt(40 * codes.size)


def test_the_dual_code_is_the_shortest_vector_with_products_one():
    codes = random_codes(np.random.default_rng(2), 12, 9)
    sets = Selection(9, 3, 1).subsets()
    found = dual_code(codes, sets)
    assert found.shape == (84, 12)
    for vector, chosen in zip(found, sets, strict=True):
        np.testing.assert_allclose(vector @ codes[:, chosen], 1.0, atol=1e-12)
        np.testing.assert_allclose(vector, np.linalg.pinv(codes[:, chosen].T) @ np.ones(3), atol=1e-12)
    np.testing.assert_array_equal(dual_code(codes, sets[5]), found[5])


def test_dependent_codes_are_refused():
    with pytest.raises(InputError, match="codes of 3 chosen positions are linearly dependent in dimension 2"):
        dual_code(random_codes(np.random.default_rng(0), 2, 5), [0, 1, 2])
