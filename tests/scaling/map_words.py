"""The words that choose a recalibration map, as users type them, and the classes they stand for."""

MAPS = {
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
