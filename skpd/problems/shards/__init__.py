"""Problems whose rows are read in blocks or held by other processes, and used through sums."""
