"""What recalibration maps are called where one is chosen by a word, and their classes.

Apart from the classes, so that the command line knows its choices before anything is imported.
"""

METHODS = {
    "temperature": "TemperatureScaling",
    "platt": "PlattScaling",
    "quadratic": "QuadraticScaling",
    "isotonic": "IsotonicCalibration",
    "centred-isotonic": "CentredIsotonic",
    "venn-abers": "VennAbers",
    "beta": "BetaCalibration",
    "spline": "SplineScaling",
    "histogram": "HistogramBinning",
    "vector": "VectorScaling",
    "matrix": "MatrixScaling",
    "structured-vector": "StructuredVectorScaling",
    "structured-matrix": "StructuredMatrixScaling",
    "dirichlet": "DirichletCalibration",
    "label-smoothing": "LabelSmoothingTemperature",
    "prior-shift": "PriorShift",
}
