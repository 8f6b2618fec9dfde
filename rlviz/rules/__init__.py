"""What each RL framework names its files, ranges and steps: data, not code."""
