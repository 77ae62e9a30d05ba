"""What a user fits."""
