"""Tools that keep the test bed honest; no part of the wheel. Nothing of the product imports them."""
