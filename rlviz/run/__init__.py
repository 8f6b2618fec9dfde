"""What happened: one clock, rows and lanes, activity and ranges of a whole run."""
