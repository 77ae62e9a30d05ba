"""Labelled sequences: random fields and max-margin networks on chains."""
