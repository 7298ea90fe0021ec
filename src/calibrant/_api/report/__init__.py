"""What a page tells beyond an evaluation: bins in every number, recalibration, words."""
