"""What a page shows beside an evaluation: every number of bins, recalibration maps, words."""
