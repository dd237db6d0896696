"""Names that are misspelt or left out are answered in one sentence, wherever fields and arguments have names."""

from __future__ import annotations

import inspect
import pickle

import pytest

import specht
from specht.errors import InputError, explains_calls
from specht.learning.adaptive import Chains, Widths

SIZE = r"write Size\(width=..., heads=..., head_size=...\)\.$"
CALLS = {
    "architecture": (
        lambda: specht.Architecture(lenght=8),
        "^Unknown field 'lenght': did you mean 'length'. Choose from: vocab, length, s_w",
    ),
    "no length": (lambda: specht.Architecture(vocab=4), r"^Architecture needs length: write Architecture\(vocab=..., length=...\)\.$"),
    "by place": (lambda: specht.Architecture(4, 8), r"^Architecture needs vocab and length: write Architecture\("),
    "both": (
        lambda: specht.Architecture(4, vocab=4, length=8),
        "^Architecture takes no fields without a name, got 1: name the others",
    ),
    "replace": (lambda: specht.Architecture(vocab=2, length=3).replace(lenght=8), "^Unknown field 'lenght': did you mean 'length'"),
    "preset": (
        lambda: specht.preset("simplified", lenght=8),
        "^Unknown field 'lenght': did you mean 'length'. Choose from: name",
    ),
    "preset, later": (lambda: specht.preset("softmax", vocab=2, length=4, dept=2), "^Unknown field 'dept': did you mean 'depth'"),
    "bare preset": (lambda: specht.preset("softmax"), r"^preset needs vocab and length: write preset\(name=..., vocab=..., length=...\)"),
    "size": (lambda: specht.nn.Size(widht=8, heads=2, head_size=4), "^Unknown field 'widht': did you mean 'width'"),
    "short size": (lambda: specht.nn.Size(8), f"^Size needs heads and head_size: {SIZE}"),
    "long size": (lambda: specht.nn.Size(8, 2, 4, 3, 5), "^Size takes 4 fields, got 5"),
    "widths": (lambda: Widths(embeding=8), "^Unknown field 'embeding': did you mean 'embedding'"),
    "chains": (lambda: Chains(chans=8), "^Unknown field 'chans': did you mean 'chains'"),
    "adapt": (lambda: specht.adapt(ARCH, [[0, 1, 1]], [1.0], widht=8), "^Unknown argument 'widht': did you mean 'width'"),
    "recipe": (lambda: specht.nn.Recipe(stps=8), "^Unknown field 'stps': did you mean 'steps'"),
    "no recipe": (lambda: specht.nn.Recipe(), "^Recipe needs steps and learning_rate: write Recipe"),
    "sampling": (lambda: specht.nn.Sampling(chans=8), "^Unknown field 'chans': did you mean 'chains'"),
    "checkpoint": (lambda: specht.nn.Checkpoint(pth="a.npz"), "^Unknown field 'pth': did you mean 'path'"),
    "twice": (lambda: specht.nn.Checkpoint("a", path="b"), "^Checkpoint got path twice, by place and by name: leave one of the two out."),
    "data": (lambda: specht.nn.Fixed([[0, 1]]), r"^Fixed needs y: write Fixed\(x=..., y=...\)"),
    "fresh data": (lambda: specht.nn.Fresh(drew=None), "^Unknown field 'drew': did you mean 'draw'"),
    "network": (lambda: specht.nn.Network.init(None, None, kye=0), "^Unknown argument 'kye': did you mean 'key'"),
    "train": (lambda: specht.nn.train(), "^train needs start, data and recipe: write train"),
    "langevin": (lambda: specht.nn.langevin(nois=1.0), "^Unknown argument 'nois': did you mean 'noise'"),
    "empirical NNGP": (lambda: specht.nn.empirical_nngp(None, None, netwroks=3), "^Unknown argument 'netwroks': did you mean 'networks'"),
    "empirical NTK": (lambda: specht.nn.empirical_ntk(None, None, siez=3), "^Unknown argument 'siez': did you mean 'size'"),
    "task": (lambda: specht.Task(sorce=None), "^Unknown field 'sorce': did you mean 'source'"),
    "target": (lambda: specht.Target("name"), r"^Target needs function: write Target\(name=..., function=...\)"),
    "spectrum": (
        lambda: specht.spectrum(None, None, "ntk"),
        "^spectrum takes 2 arguments without a name, got 3: .* such as kind.",
    ),
    "curve": (lambda: specht.learning_curve(ARCH, None, n_trian=3), "^Unknown argument 'n_trian': did you mean 'n_train'"),
    "complexity": (lambda: specht.sample_complexity(rigde=1.0), "^Unknown argument 'rigde': did you mean 'ridge'"),
    "profile": (lambda: specht.profile(None, None, lenght=3), "^Unknown argument 'lenght': did you mean 'length'"),
    "probe": (lambda: specht.probe(None, vcoab=3), "^Unknown argument 'vcoab': did you mean 'vocab'"),
    "inference": (lambda: specht.gp.learning_curve(None, None, n_tran=3), "^Unknown argument 'n_tran': did you mean 'n_train'"),
    "outputs": (lambda: specht.gp.mean_outputs(None, None), "^mean_outputs needs x and n_train: write mean_outputs"),
    "score": (lambda: specht.corpus.score(lenght=4), "^Unknown argument 'lenght': did you mean 'length'"),
    "settings": (lambda: specht.corpus.SurveySettings(lenght=4), "^Unknown field 'lenght': did you mean 'length'"),
}

ARCH = specht.Architecture(vocab=2, length=2)


@pytest.mark.parametrize("call", CALLS)
def test_wrong_names_get_a_sentence(call):
    wrong, sentence = CALLS[call]
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_other_mistakes_stay_what_they_are():
    @explains_calls
    def double(number, *rest, **options):
        return 2 * number + None

    with pytest.raises(TypeError, match="unsupported operand"):
        double(1, 2, anything=3)
    with pytest.raises(InputError, match=r"needs number: write .*double\(number=...\)"):
        double()


def test_what_is_explained_stays_what_it_was():
    assert list(inspect.signature(specht.nn.Size).parameters) == ["width", "heads", "head_size", "embedding"]
    assert list(inspect.signature(specht.Architecture).parameters)[:2] == ["vocab", "length"]
    for value in (specht.Architecture(vocab=2, length=3), specht.nn.Size(8, 2, 4), specht.nn.train, specht.preset):
        assert pickle.loads(pickle.dumps(value)) == value
    assert specht.nn.Size(8, 2, 4)._replace(width=16) == (16, 2, 4, None)
