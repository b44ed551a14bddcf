"""`solmark doctor`: what this machine can enforce and measure."""
