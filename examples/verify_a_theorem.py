"""Verifying a theorem on a laptop: eigenvalues of a transformer's kernel come in multiplets, and none exceeds E[k] over its dimension."""

# %% The statement (Lavie, Gur-Ari & Ringel 2024): the kernel on permutation-symmetric data falls into blocks, one for each irrep R of the
# symmetric group, with eigenvalues that occur dim R times and are at most E[k(x, x)] / dim R. First the case that can be listed: all 128
# sequences of six tokens out of two, and a readout token.
import math

import numpy as np

import specht
from specht.groups import Partition, multilinear
from specht.spectra import dense_operator, multiplets

arch = specht.Architecture(vocab=2, length=6, activation="erf")
operator = dense_operator(specht.Kernel(arch), specht.sources.uniform(2))
listed = multiplets(operator)
for irrep, eigenvalue, degeneracy in listed[:6]:
    print(f"{irrep!s:6} {eigenvalue:.6f}  occurs {degeneracy} times, at most {operator.trace / irrep.dimension:.6f}")
assert len(operator.matrix) == 128
assert all(eigenvalue <= operator.trace / irrep.dimension for irrep, eigenvalue, _ in listed)

# %% The same spectrum without listing anything, from the blocks. Both agree to rounding.
blocks = specht.spectrum(arch, specht.sources.uniform(2))
fast = sorted((row.eigenvalue for row in blocks.rows for _ in range(row.degeneracy)), reverse=True)
difference = float(np.abs(operator.eigenvalues() - fast).max() / fast[0])
print(f"largest difference {difference:.0e} of the largest eigenvalue")
assert difference < 1e-10

# %% The other theorem, in whole numbers: multilinear polynomials of degree d in L variables hold each irrep [L-m,m], m up to min(d, L-d),
# once. So dimensions must add up to the number of monomials.
for length, degree in ((6, 3), (40, 7), (1000, 3)):
    found = multilinear(length, degree)
    dimension = sum(irrep.dimension * copies for irrep, copies in found.items())
    assert dimension == math.comb(length, degree)
    print(f"L = {length}, degree {degree}: {len(found)} irreps, {dimension} monomials")

# %% In numbers: of degree 3 in 1000 variables there are 4 irreps and 166167000 monomials, and the largest irrep has 165667500 dimensions.
assert (len(found), dimension) == (4, 166_167_000)
assert Partition((997, 3)).dimension == 165_667_500
