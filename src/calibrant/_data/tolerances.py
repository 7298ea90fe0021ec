"""How exact predictions must be. The compiled kernels carry the same two numbers."""

# How far a prediction may overshoot [0, 1] (float32 softmax does) and be brought back, counted.
OVERSHOOT = 1e-4
# How far from 1 a row of predictions or of soft labels may sum, by the precision it was rounded to.
ROW_SUM_TOLERANCE = 1e-4
HALF_ROW_SUM_TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2}
# Rows that sum to 1 less precisely than this are counted and told.
ROW_SUM_TOLD = 1e-5
