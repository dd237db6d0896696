"""From kernels to features: what transformers of finite width learn, experiment by experiment. Results of this project, not of a paper."""
