"""Energies by irreps of the symmetric group: against projectors by characters, group averages, and windows counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.corpus.read.stream import Segment
from specht.corpus.stats.isotypic import PARTS, WindowTensor, isotypic_energies, isotypic_grams
from specht.corpus.stats.squares import Resampling
from specht.errors import InputError
from specht.groups.irreps import isotypic_projector
from specht.groups.partition import Partition, partitions

LENGTH = 5
ORDERED = list(itertools.product(range(LENGTH), repeat=2))
SHAPES = dict(zip(PARTS, (Partition((5,)), Partition((4, 1)), Partition((3, 2)), Partition((3, 1, 1))), strict=True))


def on_ordered_pairs(permutation) -> np.ndarray:
    """Where a permutation of positions takes each pair (a, b), a = b included."""
    return np.array([ORDERED.index((permutation[a], permutation[b])) for a, b in ORDERED])


def random_tensors(blocks: int, vocab: int, seed: int) -> np.ndarray:
    """K[block, a, b] with K_ba the transpose of K_ab and nothing at a = b."""
    tensor = np.random.default_rng(seed).normal(size=(blocks, LENGTH, LENGTH, vocab, vocab))
    tensor = tensor + tensor.transpose(0, 2, 1, 4, 3)
    tensor[:, range(LENGTH), range(LENGTH)] = 0
    return tensor


def upper(tensor: np.ndarray) -> list[np.ndarray]:
    return [tensor[:, a, b] for a, b in itertools.combinations(range(tensor.shape[1]), 2)]


def projected_grams(tensor: np.ndarray) -> dict[str, np.ndarray]:
    flat = tensor.reshape(len(tensor), LENGTH**2, -1)
    parts = {name: np.einsum("xy,gyi->gxi", isotypic_projector(shape, on_ordered_pairs), flat) for name, shape in SHAPES.items()}
    return {name: np.einsum("gxi,hxi->gh", part, part) for name, part in parts.items()}


def test_dimensions_of_the_parts():
    found = {shape.parts: round(np.trace(isotypic_projector(shape, on_ordered_pairs))) for shape in partitions(LENGTH)}
    assert {parts: size for parts, size in found.items() if size} == {(5,): 2, (4, 1): 3 * 4, (3, 2): 5, (3, 1, 1): 6}


@pytest.mark.parametrize("vocab", [1, 2, 4])
def test_grams_are_those_of_projections_by_characters(vocab):
    tensor = random_tensors(3, vocab, seed=vocab)
    found, expected = isotypic_grams(upper(tensor), LENGTH), projected_grams(tensor)
    for part in PARTS:
        np.testing.assert_allclose(found[part], expected[part], atol=1e-10 * len(ORDERED))
    np.testing.assert_allclose(sum(found.values()), np.einsum("gabij,habij->gh", tensor, tensor))


def test_invariant_part_is_the_average_over_all_permutations():
    tensor = random_tensors(2, 3, seed=7)
    orders = list(itertools.permutations(range(LENGTH)))
    average = np.mean([tensor[:, order][:, :, order] for order in orders], axis=0)
    assert len(orders) == 120
    np.testing.assert_allclose(isotypic_grams(upper(tensor), LENGTH)["(L)"], np.einsum("gabij,habij->gh", average, average))


@pytest.mark.parametrize("part", PARTS)
def test_a_tensor_of_one_part_has_no_other(part):
    flat = random_tensors(2, 3, seed=1).reshape(2, LENGTH**2, -1)
    pure = np.einsum("xy,gyi->gxi", isotypic_projector(SHAPES[part], on_ordered_pairs), flat).reshape(2, LENGTH, LENGTH, 3, 3)
    grams = isotypic_grams(upper(pure), LENGTH)
    assert np.trace(grams[part]) > 1
    assert all(np.allclose(gram, 0, atol=1e-10) for name, gram in grams.items() if name != part)


def test_energies_of_known_windows():
    """Every block holds the same windows, so that products of different blocks are exact squares."""
    rng = np.random.default_rng(3)
    windows = rng.integers(0, 4, size=(40, LENGTH))
    weights = np.array([1.0, 0.5, 2.0, 0.0])
    tensor = WindowTensor(LENGTH, 4, 3)
    for block in range(3):
        tensor.update(Segment(windows.ravel(), windows.size, block))
    one_hot = np.eye(4)[windows]
    y = (one_hot - one_hot.mean(axis=(0, 1))) * weights
    full = np.einsum("nai,nbj->abij", y, y) / len(y)
    own = full[range(LENGTH), range(LENGTH)].copy()
    full[range(LENGTH), range(LENGTH)] = 0
    expected, total = projected_grams(full[None]), (full**2).sum()

    found = isotypic_energies(tensor, weights)
    for part in PARTS:
        assert found.shares[part].value == pytest.approx(expected[part].item() / total)
        assert found.shares[part].stderr == pytest.approx(0, abs=1e-12)
    assert found.energy.value == pytest.approx(total)
    assert found.diagonal.value == pytest.approx(((own - own.mean(axis=0)) ** 2).sum() / total)
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1)


def test_exchangeable_windows_are_invariant_and_independent_ones_undefined():
    rng = np.random.default_rng(0)
    inside, found = 0, []
    for repeat in range(10):
        tensor = WindowTensor(6, 3, 12)
        for block in range(12):
            composition = rng.dirichlet([1, 1, 1], size=200)
            tokens = (rng.random((200, 6, 1)) > composition.cumsum(axis=1)[:, None, :2]).sum(axis=2)
            tensor.update(Segment(tokens.ravel(), tokens.size, block))
        result = isotypic_energies(tensor, np.ones(3), seed=repeat)
        assert result.defined
        inside += result.shares["(L)"].low <= 1 <= result.shares["(L)"].high
        found.append([share.value for share in result.shares.values()])
    assert inside >= 8
    np.testing.assert_allclose(np.mean(found, axis=0), [1, 0, 0, 0], atol=0.01)

    noise = WindowTensor(6, 3, 12)
    for block in range(12):
        noise.update(Segment(rng.integers(0, 3, 1200), 1200, block))
    assert not isotypic_energies(noise, np.ones(3)).defined


def slow_windows(ids, ends, length, owned):
    """Records as lists, cut into windows; `ends` are the places behind each record."""
    low, windows = 0, []
    for end in ends:
        places = range(low, min(end, owned) - length + 1, length)
        windows += [ids[place : place + length] for place in places]
        low = end
    return windows


def test_windows_stay_inside_records():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 15, size=60)
    ends = np.cumsum(sizes)
    ids = rng.integers(0, 3, ends[-1])
    left = np.concatenate([np.arange(size)[::-1] for size in sizes])
    owned = ends[-1] - 9
    tensor = WindowTensor(4, 3, 2)
    tensor.update(Segment(ids, owned, 1, np.minimum(left[:owned], 6)))
    windows = slow_windows(ids, ends, 4, owned)
    assert tensor.windows.tolist() == [0, len(windows)]
    for pair, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        expected = np.zeros((3, 3))
        for window in windows:
            expected[window[a], window[b]] += 1
        np.testing.assert_array_equal(tensor.pairs[1, pair], expected)
    for a in range(4):
        np.testing.assert_array_equal(tensor.tokens[1, a], np.bincount([window[a] for window in windows], minlength=3))


def test_one_record_without_limits():
    tensor = WindowTensor(4, 2, 1)
    tensor.update(Segment(np.zeros(14, dtype=np.intp), 11, 0))
    assert tensor.windows.tolist() == [2]


def test_pieces_add_up_in_any_order():
    rng = np.random.default_rng(2)
    segments = [Segment(rng.integers(0, 3, 40).astype(np.uint8), 40, block) for block in (0, 1, 0, 1)]
    whole = WindowTensor(5, 3, 2)
    pieces = [WindowTensor(5, 3, 2) for _ in segments]
    for segment, piece in zip(segments, pieces, strict=True):
        whole.update(segment)
        piece.update(segment)
    merged = WindowTensor(5, 3, 2)
    merged.restore(pieces[3].arrays())
    for piece in (pieces[1], pieces[0], pieces[2]):
        merged.merge(piece)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged.arrays()[name], array)
    np.testing.assert_allclose(whole.probabilities.sum(), 1)


def test_resampling_leaves_products_of_a_block_with_itself_out():
    gram = np.array([[1e9, 1.0, 2.0], [1.0, 1e9, 3.0], [2.0, 3.0, 1e9]])
    values = Resampling(np.array([1.0, 1.0, 2.0]), resamples=500).squared_norm(gram).values
    assert values[0] == pytest.approx((1 * 1 + 2 * 2 + 2 * 3) / 5)
    assert values.max() <= 3


def test_bad_input_is_answered_by_a_sentence():
    tensor = WindowTensor(4, 3, 2)
    with pytest.raises(InputError, match="0 of 2 blocks hold data"):
        isotypic_energies(tensor, np.ones(3))
    with pytest.raises(InputError, match="one a symbol"):
        isotypic_energies(tensor, np.ones(4))
    with pytest.raises(InputError, match="count all pieces alike"):
        tensor.merge(WindowTensor(4, 2, 2))
    with pytest.raises(InputError, match="of at least 4"):
        WindowTensor(3, 3, 2)
    with pytest.raises(InputError, match="GiB"):
        WindowTensor(64, 1000, 16)
