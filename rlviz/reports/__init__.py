"""What nsys wrote, as it stands: find, probe, read and identify reports."""
