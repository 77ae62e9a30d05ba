"""Times of events: proportional hazards, their partial likelihood and censoring."""
