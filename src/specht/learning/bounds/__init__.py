"""Capacity and generalisation bounds of attention that can be evaluated on a network (Edelman, Goel, Kakade & Zhang 2022).

- `covering`: how many functions heads, layers and stacks can tell apart at a resolution: lemmas A.10, 4.6, theorems 4.2, A.17, ...
- `generalisation`: from there to the gap between training and test risk, and the samples from which that says anything
- `representation`: heads that compute sparse functions, with their norms, and what unbounded norms can shatter
- `bumps`: perceptrons behind such heads, which make any function of what they read
- `networks`: the norms of a given network
"""
