"""One validator: consensus, execution, actors, state, storage, and the shell that joins them."""
