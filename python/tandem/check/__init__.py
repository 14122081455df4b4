"""Runs of a program under many schedules, and what they found."""
