"""Tables at a node of their owner: the analyst's side, over HTTPS, with the standard library."""
