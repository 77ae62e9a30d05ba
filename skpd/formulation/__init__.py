"""From parameters and data to problems, and from their solutions to what estimators report."""
