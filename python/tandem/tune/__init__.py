"""Choices that are timed on GPUs: configurations of kernels, the profile of the machine."""
