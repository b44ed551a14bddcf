"""The trusted side: holds inputs, oracle, clock and verdict; never loads candidate code."""
