"""Methods for the distributionally robust SVM."""
