"""Rooms: what only one family of models needs, a folder for each of them.

A room has estimators, losses, rows, dual points and methods of its own. It imports the core, the
core imports no room, and no room imports another.
"""
