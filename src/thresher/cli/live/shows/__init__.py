"""What there is to show, and to change, of each kind of run."""
