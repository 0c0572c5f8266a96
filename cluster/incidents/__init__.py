"""Incidents: outages of real chains as scenarios of two sides, a healthy run and one with the same fault planted."""
