"""On the path of processes that one under `tandem.compat` starts: there `import triton` means Tandem, too."""
