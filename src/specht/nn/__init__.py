"""Networks of finite width, sampled and measured: the Monte-Carlo side of every infinite-width claim."""
