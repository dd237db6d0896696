"""PyTorch modules as models, where PyTorch is installed."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.probes.models import open_model
from specht.probes.search import probe
from specht.probes.torch_models import blocks_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = torch.nn

VOCAB, LENGTH = 7, 5


class Encoder(nn.Module):
    """The transformer of PyTorch, with dropout."""

    def __init__(self, causal: bool = False, positions: bool = False, depth: int = 2, batch_first: bool = True, mistaken: bool = False):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCAB, 8)
        self.positions = nn.Embedding(LENGTH + 1, 8) if positions else None
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)
        self.causal, self.swapped = causal, not (batch_first or mistaken)

    def forward(self, tokens):
        stream = self.embedding(tokens)
        if self.positions is not None:
            stream = stream + self.positions(torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) if self.causal else None
        stream = stream.transpose(0, 1) if self.swapped else stream
        stream = self.encoder(stream, mask=mask, is_causal=self.causal)
        return self.head(stream.transpose(0, 1) if self.swapped else stream)


def quick(model, **settings):
    return probe(model, VOCAB, LENGTH, **({"profile_samples": 0} | settings))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", [False, True])
def test_exact_table(positions, causal, depth, batch_first):
    module = Encoder(causal, positions, depth, batch_first)
    found = quick(module)
    ignores = not positions and (not causal or depth == 1)
    assert found.invariant is ignores
    assert found.residual.value < 1e-10 if ignores else found.residual.value > 1e-3
    assert found.precision == "float64"
    assert [layer.name for layer in found.layers] == [*(f"layer {number}" for number in range(depth + 1)), "output"]
    assert found.first_layer == (None if ignores else "layer 1" if positions else "layer 2")
    if causal and not positions:
        for place, view in enumerate(found.layers[1].views):
            assert view.ignored == tuple(range(place + 1, LENGTH + 1))
            assert {place} in map(set, view.classes)
            assert place < 2 or set(range(place)) in map(set, view.classes)


def test_the_module_is_left_as_it_was():
    module = Encoder()
    before = {name: each.clone() for name, each in module.state_dict().items()}
    default = torch.get_default_dtype()
    quick(module)
    assert module.training
    assert torch.get_default_dtype() == default
    for name, each in module.state_dict().items():
        assert each.dtype == before[name].dtype == torch.float32
        assert torch.equal(each, before[name])
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in module.modules())


def test_hidden_states_are_those_of_the_module():
    module = Encoder(depth=1).eval()
    tokens = np.random.default_rng(0).integers(VOCAB, size=(4, LENGTH + 1))
    (_, layers), *_ = open_model(module, VOCAB, LENGTH).blocks(tokens)
    with torch.no_grad():
        stream = module.embedding(torch.as_tensor(tokens))
        np.testing.assert_allclose(layers["layer 0"].array, stream, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(layers["layer 1"].array, module.encoder(stream), rtol=1e-4, atol=1e-5)


def test_a_class_or_a_factory_makes_the_module():
    assert quick(Encoder).invariant
    assert not quick(lambda: Encoder(positions=True)).invariant


def test_axes_that_are_mistaken_mix_sequences():
    with pytest.raises(InputError, match="it mixes the sequences of a batch, so check which axis holds them"):
        quick(Encoder(batch_first=False, mistaken=True))


def test_dropout_outside_of_modules_is_seen():
    class Dropping(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, 4)

        def forward(self, tokens):
            return nn.functional.dropout(self.embedding(tokens))

    with pytest.raises(InputError, match="Dropping returned other numbers when it was called again with the same tokens"):
        quick(Dropping)


def test_code_that_insists_on_single_precision_is_called_in_it():
    class Single(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(VOCAB, 4)

        def forward(self, tokens):
            return self.table(tokens).sum(dim=1) @ torch.ones(4, 2, dtype=torch.float32), None

    found = quick(Single)
    assert found.precision == "float32"
    assert found.invariant


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_functions_may_return_tensors(precision):
    table = torch.randn(VOCAB, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    found = quick(lambda x: table[torch.as_tensor(x)].to(precision)[:, -1])
    assert found.precision == str(precision).removeprefix("torch.")
    assert found.output.readout.ignored == tuple(range(LENGTH))


def test_a_module_that_raises_is_a_sentence():
    with pytest.raises(InputError, match=r"Encoder raised IndexError: .* for tokens of shape \(2, 13\) from 0 to 6"):
        probe(Encoder(positions=True), VOCAB, 12)


def test_blocks_are_the_longest_outer_list():
    def heads():
        return nn.ModuleList([nn.Linear(2, 2) for _ in range(8)])

    blocks = nn.ModuleList([nn.ModuleDict({"heads": heads()}) for _ in range(3)])
    assert list(blocks_of(nn.ModuleDict({"short": nn.ModuleList([nn.Linear(2, 2)]), "blocks": blocks}))) == list(blocks)
    stack, mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    assert list(blocks_of(nn.ModuleDict({"mixed": mixed, "stack": stack}))) == list(stack)
    assert list(blocks_of(nn.Linear(2, 2))) == []
