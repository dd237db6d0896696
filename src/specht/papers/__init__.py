"""The papers that Specht rests on: each a module with its experiments, figures and claims."""
