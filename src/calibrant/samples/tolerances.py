"""How exact reports must be. The compiled kernels carry the same two numbers."""

# How far a report may overshoot [0, 1] (float32 softmax does) and be brought back, counted; and
# how far a row of soft labels may be from summing to 1.
OVERSHOOT = 1e-4
# Rows that sum to 1 less precisely than this are counted and told.
ROW_SUM_TOLD = 1e-5
