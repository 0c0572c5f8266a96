"""Campaigns that go by what they have reached: the estimate of the unseen, and the corpus of plans that reached more.

Plain data of results and plans enter; nothing here runs a scenario or judges one.
"""
