"""What a privacy officer signs: who approved which release for what, bound to model and page."""
