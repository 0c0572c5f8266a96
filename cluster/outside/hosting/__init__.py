"""Applications in a run: a home for each replica, all requests and answers, and their judgement."""
