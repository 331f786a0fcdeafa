"""What the platform allows and the table declares: checked against what is asked for and what is there."""
