"""The checks of `doctor` beyond `validate --online`: what will go wrong soon, and what only the machine or the cluster shows."""
