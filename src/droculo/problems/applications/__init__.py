"""Applications: the problems that the paper names, posed so that its assumptions hold."""
