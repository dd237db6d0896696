"""Fourier blocks of second moments: against Fourier transforms of windows, and the two blocks of exchangeable data."""

from __future__ import annotations

import numpy as np
import pytest

from specht.corpus.stats import harmonics as module
from specht.corpus.stats.harmonics import block_moments, kolmogorov_distance, measure_harmonics
from specht.errors import InputError

LENGTH, SYMBOLS = 8, 5


def ring() -> np.ndarray:
    """A stream closed to a ring, with correlations that have a direction: each token tends to exceed the one before by one."""
    rng = np.random.default_rng(0)
    steps = np.where(rng.random(300) < 0.6, 1, rng.integers(0, SYMBOLS, 300))
    return np.minimum(np.cumsum(steps) % SYMBOLS, rng.integers(0, SYMBOLS, 300) + 2)


def circular_tables(ids: np.ndarray, length: int = LENGTH) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes = (ids * SYMBOLS + np.roll(ids, -t) for t in range(1, length))
    tables = np.stack([np.bincount(code, minlength=SYMBOLS**2).reshape(SYMBOLS, SYMBOLS) for code in codes])
    return tables, np.full(length - 1, len(ids)), np.bincount(ids, minlength=SYMBOLS) / len(ids)


def transformed_windows(ids: np.ndarray, kind: str, length: int = LENGTH) -> np.ndarray:
    """C(k) as the mean of products of the Fourier transforms of all windows."""
    windows = np.eye(SYMBOLS)[np.stack([np.roll(ids, -a) for a in range(length)], axis=1)]
    if kind != "raw":
        windows = windows - windows.mean(axis=(0, 1))
    waves = np.fft.fft(windows, axis=1)[:, : length // 2 + 1] / np.sqrt(length)
    blocks = np.einsum("nki,nkj->kij", waves, waves.conj()) / len(windows)
    return blocks - np.einsum("ni,nj->ij", windows[:, 0], windows[:, 0]) / len(windows) if kind == "off-site" else blocks


def cosines(blocks: np.ndarray) -> np.ndarray:
    products = np.einsum("kij,lij->kl", blocks.conj(), blocks).real
    return products / np.sqrt(np.outer(np.diag(products), np.diag(products)))


@pytest.mark.parametrize("length", [7, 8])
@pytest.mark.parametrize("kind", ["raw", "centred", "off-site"])
def test_blocks_are_means_of_transformed_windows(kind, length):
    ids = ring()
    tables, expected = circular_tables(ids, length), transformed_windows(ids, kind, length)
    assert np.abs(expected.imag).max() > 0.01
    for k in range(length // 2 + 1):
        np.testing.assert_allclose(block_moments(*tables, k, kind=kind), expected[k], atol=1e-12)
    found = measure_harmonics(*tables, kind=kind)
    np.testing.assert_allclose(found.cosines.matrix, cosines(expected), atol=1e-10)
    sizes = np.linalg.norm(expected.imag, axis=(1, 2)) / np.linalg.norm(expected.real, axis=(1, 2))
    assert found.imaginary == pytest.approx(sizes.max())


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("kind", ["raw", "centred"])
def test_eigenvalues_subspaces_and_metric(kind, whitened):
    ids = ring()
    tables = circular_tables(ids)
    scale = 1 / np.sqrt(tables[2]) if whitened else np.ones(SYMBOLS)
    blocks = transformed_windows(ids, kind) * np.outer(scale, scale)
    found = measure_harmonics(*tables, kind=kind, whitened=whitened, components=2)
    np.testing.assert_allclose(found.cosines.matrix, cosines(blocks), atol=1e-10)
    values, vectors = np.linalg.eigh(blocks)
    assert found.eigenvalues is not None
    np.testing.assert_allclose(found.eigenvalues, values[:, ::-1], atol=1e-10)
    np.testing.assert_allclose(found.spectra().sum(axis=1), 1)
    # Projectors do not depend on the phases of eigenvectors.
    projectors = np.einsum("kin,kjn->kij", vectors[:, :, -2:], vectors[:, :, -2:].conj())
    assert found.overlaps is not None
    np.testing.assert_allclose(found.overlaps.matrix, np.einsum("kij,lji->kl", projectors, projectors).real / 2, atol=1e-8)
    alone = measure_harmonics(*tables, kind=kind, whitened=whitened, eigenvalues=True)
    assert alone.eigenvalues is not None
    assert alone.overlaps is None
    np.testing.assert_allclose(alone.eigenvalues, found.eigenvalues, atol=1e-12)


def test_summaries():
    matrix = np.array([[1, 0.1, 0.2, 0.6], [0.1, 1, 0.5, 0.6], [0.2, 0.5, 1, 0.7], [0.6, 0.6, 0.7, 1]])
    likeness = module.Likeness(matrix)
    within, across = likeness.within, likeness.across
    assert (within.mean, within.median, within.least, within.most) == pytest.approx((0.6, 0.6, 0.5, 0.7))
    assert (across.mean, across.median, across.least, across.most) == pytest.approx((0.3, 0.2, 0.1, 0.6))


def test_kolmogorov_distance_is_the_largest_gap_of_the_steps():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=13), rng.normal(size=13) + 0.3
    grid = np.concatenate([first, second])
    expected = max(abs(np.mean(first <= x) - np.mean(second <= x)) for x in grid)
    assert kolmogorov_distance(first, second) == pytest.approx(expected)
    assert kolmogorov_distance(first, first) == 0


def test_exchangeable_moments_have_two_blocks():
    rng = np.random.default_rng(2)
    mixture = rng.dirichlet(np.ones(SYMBOLS), size=4)
    p, pair = mixture.mean(axis=0), np.einsum("mi,mj->ij", mixture, mixture) / 4
    tables, number = np.repeat(pair[None], LENGTH - 1, axis=0), np.ones(LENGTH - 1)
    found = measure_harmonics(tables, number, p, components=2)
    covariance = pair - np.outer(p, p)
    blocks = [block_moments(tables, number, p, k) for k in range(LENGTH // 2 + 1)]
    for block in blocks[1:]:
        np.testing.assert_allclose(block, np.diag(p) - pair, atol=1e-14)
    np.testing.assert_allclose(blocks[0] - blocks[1], LENGTH * covariance, atol=1e-14)
    assert found.cosines.within.least == pytest.approx(1)
    assert found.cosines.across.mean < 0.99
    assert found.kolmogorov().across.median > 0
    assert found.imaginary < 1e-7
    # Without the term of a single site the blocks k != 0 are minus the covariance, and C(0) is parallel to it.
    off_site = measure_harmonics(tables, number, p, kind="off-site")
    assert off_site.cosines.within.least == pytest.approx(1)
    assert off_site.cosines.across.mean == pytest.approx(-1)


def test_independent_tokens_set_raw_blocks_apart_and_centred_ones_not():
    p = np.array([0.4, 0.3, 0.2, 0.1])
    tables, number = np.repeat(np.outer(p, p)[None], 7, axis=0), np.ones(7)
    raw, centred = (measure_harmonics(tables, number, p, kind=kind) for kind in ("raw", "centred"))
    assert raw.cosines.within.least == pytest.approx(1)
    assert raw.cosines.across.mean < 0.8
    assert centred.cosines.across.least == pytest.approx(1)
    with pytest.raises(InputError, match="off-site moments is zero"):
        measure_harmonics(tables, number, p, kind="off-site")
    with pytest.raises(InputError, match="centred moments is zero"):
        measure_harmonics(np.ones((7, 1, 1)), number, [1.0])


def test_blocks_of_rows_do_not_matter(monkeypatch):
    tables = circular_tables(ring())
    at_once = measure_harmonics(*tables)
    monkeypatch.setattr(module, "_BLOCK", LENGTH * SYMBOLS * 2)
    in_rows = measure_harmonics(*tables)
    np.testing.assert_allclose(at_once.cosines.matrix, in_rows.cosines.matrix, atol=1e-12)
    assert in_rows.imaginary == pytest.approx(at_once.imaginary)


def test_symbols_that_never_occur_are_no_coordinates_when_whitened():
    tables, number, p = circular_tables(ring())
    wider = np.pad(tables, ((0, 0), (0, 1), (0, 1))).astype(np.int32)
    padded = measure_harmonics(wider, number, np.append(p, 0), whitened=True, eigenvalues=True)
    plain = measure_harmonics(tables, number, p, whitened=True, eigenvalues=True)
    np.testing.assert_allclose(padded.cosines.matrix, plain.cosines.matrix)
    np.testing.assert_allclose(padded.spectra(), plain.spectra(), atol=1e-12)


def test_bad_input_is_answered_by_a_sentence():
    tables, number, p = circular_tables(ring())
    with pytest.raises(InputError, match="Unknown kind 'centered': did you mean 'centred'"):
        measure_harmonics(tables, number, p, kind="centered")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="symbol, symbol"):
        measure_harmonics(tables[0], number, p)
    with pytest.raises(InputError, match="7 positive numbers"):
        measure_harmonics(tables, number * 0, p)
    with pytest.raises(InputError, match="add up to 1"):
        measure_harmonics(tables, number, p / 2)
    with pytest.raises(InputError, match="one block k != 0"):
        measure_harmonics(tables[:2], number[:2], p)
    with pytest.raises(InputError, match="eigenvalues=True"):
        measure_harmonics(tables, number, p).spectra()
    with pytest.raises(InputError, match="both signs"):
        measure_harmonics(tables, number, p, kind="off-site", eigenvalues=True).kolmogorov()
    with pytest.raises(InputError, match="components must be a whole number from 0 to 5"):
        measure_harmonics(tables, number, p, components=6)
