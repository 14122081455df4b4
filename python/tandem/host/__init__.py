"""A run's host side: arrays, teams, sessions, and launches on simulated ranks."""
