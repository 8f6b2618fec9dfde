"""What is drawn, and the three ways of drawing it."""
