"""The symmetric group acting on sequences: actions, blocks of invariant kernels, spectra."""
