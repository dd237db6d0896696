"""Closed kernels against the formulas of Lavie et al. (2024) and Hron et al. (2020), summed position by position in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import specht

V, L, S_W, S_P = 3, 5, 0.6, 0.5


def tokens(arch, n=5, seed=0):
    return np.random.default_rng(seed).integers(0, arch.vocab, (n, arch.columns))


def token_covariance(x, y, s_p=S_P):
    """K_ab(X, Y) = s_w [x_a = y_b] + s_p delta_ab for two sequences."""
    return S_W * (x[:, None] == y[None, :]) + s_p * np.eye(len(x))


def pairwise(function, x):
    return np.array([[function(a, b) for b in x] for a in x])


def attended(x, y):
    k = token_covariance(x, y)
    return k[-1, -1] * (k**2).sum()


def test_linear_attention_sums_squared_covariances():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, s_1=1.3, s_2=0.7)
    x = tokens(arch)
    np.testing.assert_allclose(specht.Kernel(arch)(x), 1.3 * 0.7 * pairwise(attended, x), rtol=1e-12)
    counts = np.eye(V)[x].sum(axis=1)
    exact = 1.3 * 0.7 * (S_W + S_P) * (S_W**2 * (counts**2).sum(axis=1) + (2 * S_W * S_P + S_P**2) * (L + 1))
    np.testing.assert_allclose(specht.Kernel(arch).diagonal(x), exact, rtol=1e-12)


def test_normalised_attention_divides_by_the_number_of_tokens_squared():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P)
    x = tokens(arch)
    np.testing.assert_allclose(specht.Kernel(arch.replace(normalised=True))(x), specht.Kernel(arch)(x) / (L + 1) ** 2, rtol=1e-12)


def test_positions_in_scores_only():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, values_see_positions=False)

    def formula(x, y):
        read, value = token_covariance(x, y), token_covariance(x, y, s_p=0.0)
        return read[-1, -1] * (read * value).sum()

    x = tokens(arch)
    np.testing.assert_allclose(specht.Kernel(arch)(x), pairwise(formula, x), rtol=1e-12)


def test_mean_readout_averages_over_query_pairs():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, readout="mean")

    def formula(x, y):
        k = token_covariance(x, y)
        return k.mean() * (k**2).sum()

    x = tokens(arch)
    np.testing.assert_allclose(specht.Kernel(arch)(x), pairwise(formula, x), rtol=1e-12)


def test_class_symbol_replaces_the_last_column():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, readout="cls")
    x = tokens(arch)
    marked = x.copy()
    marked[:, -1] = V
    other = x.copy()
    other[:, -1] = (x[:, -1] + 1) % V
    np.testing.assert_allclose(specht.Kernel(arch)(x), pairwise(attended, marked), rtol=1e-12)
    np.testing.assert_array_equal(specht.Kernel(arch)(x), specht.Kernel(arch)(other))


@pytest.mark.parametrize("normalised", [False, True])
def test_linear_model_has_nine_times_its_covariance_as_tangent_kernel(normalised):
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, normalised=normalised)
    x = tokens(arch)
    kernel = specht.Kernel(arch)
    np.testing.assert_allclose(kernel.ntk(x), 9 * kernel.nngp(x), rtol=1e-12)
    extra = specht.Kernel(arch.replace(extra_linear=True))
    np.testing.assert_allclose(extra.ntk(x), 10 * kernel.nngp(x), rtol=1e-12)
    np.testing.assert_allclose(extra.nngp(x), kernel.nngp(x), rtol=1e-12)


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_dense_layer_maps_covariance_and_tangent_kernel(activation):
    s_1, s_2 = 1.3, 0.7
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, s_1=s_1, s_2=s_2, activation=activation)
    x = tokens(arch)
    k = s_1 * pairwise(attended, x)
    q_x, q_y = np.diag(k)[:, None], np.diag(k)[None, :]
    if activation == "erf":
        scale = (1 + 2 * q_x) * (1 + 2 * q_y)
        value, slope = 2 / np.pi * np.arcsin(2 * k / np.sqrt(scale)), 4 / np.pi / np.sqrt(scale - 4 * k**2)
    else:
        cosine = k / np.sqrt(q_x * q_y)
        np.fill_diagonal(cosine, 1.0)
        angle = np.arccos(np.clip(cosine, -1, 1))
        value = np.sqrt(q_x * q_y) / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * cosine)
        slope = (np.pi - angle) / (2 * np.pi)
    np.testing.assert_allclose(specht.Kernel(arch).nngp(x), s_2 * value, rtol=1e-12)
    np.testing.assert_allclose(specht.Kernel(arch).ntk(x), s_2 * (value + slope * (7 * k + k)), rtol=1e-12)


def test_relu_tangent_kernel_is_nine_times_the_covariance_on_the_diagonal_only():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, activation="relu")
    x = tokens(arch)
    kernel = specht.Kernel(arch)
    ratio = kernel.ntk(x) / kernel.nngp(x)
    np.testing.assert_allclose(np.diag(ratio), 9.0, rtol=1e-12)
    assert np.abs(ratio[0, 1:] - 9).min() > 1e-3


def test_tied_softmax_has_deterministic_weights():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=S_P, attention="softmax", scaling="tied")

    def weights(x):
        score = np.exp(token_covariance(x, x)[-1])
        return score / score.sum()

    x = tokens(arch)
    kernel = specht.Kernel(arch)
    exact = pairwise(lambda a, b: weights(a) @ token_covariance(a, b) @ weights(b), x)
    np.testing.assert_allclose(kernel.nngp(x), exact, rtol=1e-12)
    np.testing.assert_allclose(kernel.ntk(x), 5 * exact, rtol=1e-12)
    features = kernel.features(x)
    np.testing.assert_allclose(features @ features.T, exact, rtol=1e-12)


def test_softmax_kernel_matches_scores_drawn_from_their_covariance():
    """The heads' tables against scores drawn by Cholesky from K_cc K_bd, for the covariance and the path through the scores."""
    arch = specht.Architecture(vocab=V, length=3, s_w=1.2, s_p=0.8, attention="softmax")
    x = np.array([[0, 1, 1, 2], [2, 1, 0, 2], [0, 0, 1, 1]])
    pairs = [[1.2 * (a[:, None] == b[None, :]) + 0.8 * np.eye(4) for b in x] for a in x]
    scores = np.block([[pairs[i][j][-1, -1] * pairs[i][j] for j in range(3)] for i in range(3)])
    root = np.linalg.cholesky(scores + 1e-12 * np.eye(12))
    draws = (np.random.default_rng(0).standard_normal((40_000, 12)) @ root.T).reshape(-1, 3, 4)
    a = np.exp(draws) / np.exp(draws).sum(axis=2, keepdims=True)
    jacobian = np.einsum("sib,be->sibe", a, np.eye(4)) - np.einsum("sib,sie->sibe", a, a)
    kernel = specht.Kernel(arch, heads=32768, seed=1)
    nngp, ntk = kernel.nngp(x), kernel.ntk(x)
    for i in range(3):
        for j in range(3):
            k = pairs[i][j]
            first = np.einsum("sb,bd,sd->s", a[:, i], k, a[:, j])
            path = np.einsum("sbe,bd,ef,sdf->s", jacobian[:, i], k, k, jacobian[:, j], optimize=True)
            tangent = 3 * first + 4 * k[-1, -1] * path + 2 * first  # and the two layers above
            for samples, value, error in ((first, nngp, nngp.stderr), (tangent, ntk, ntk.stderr)):
                stderr = np.hypot(samples.std() / len(samples) ** 0.5, error[i, j])
                assert abs(samples.mean() - value[i, j]) < 5 * stderr


def test_without_positions_permuting_one_sequence_alone_changes_nothing():
    arch = specht.Architecture(vocab=V, length=L, s_w=S_W, s_p=0.0, activation="relu")
    x = tokens(arch)
    moved = x.copy()
    moved[:, :L] = x[:, np.random.default_rng(1).permutation(L)]
    for kind in ("nngp", "ntk"):
        evaluate = getattr(specht.Kernel(arch), kind)
        np.testing.assert_allclose(evaluate(moved, x), evaluate(x), rtol=1e-12)


def test_sinusoidal_covariance_is_the_limit_of_many_frequencies():
    from specht.kernel.position_pairs import position_gram, position_mean

    arch = specht.Architecture(vocab=V, length=40, positions="sinusoidal")
    u = (np.arange(200_000) + 0.5) / 200_000
    angle = np.arange(arch.columns)[:, None] * 1e4 ** -u[None, :]
    encoding = np.sqrt(2) * np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(position_gram(arch), encoding @ encoding.T / encoding.shape[1], atol=1e-8)
    np.testing.assert_allclose(position_mean(arch), encoding.mean(axis=1), atol=1e-8)
