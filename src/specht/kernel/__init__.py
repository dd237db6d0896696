"""The kernel limit: a transformer of infinite width is a Gaussian process, and this is its covariance."""
