"""The detail that any zoom needs: activity in buckets, exact where there is room for it."""
