"""Runs of a program under many schedules, and their findings."""
