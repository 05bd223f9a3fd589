"""A random forest over scikit-learn's wine data: 13 measurements of a wine, three cultivars."""

import numpy as np
from onnx import checker, helper
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

SEED = 7


def data():
    """(training rows, test rows, training classes, test classes); rows are [rows, 13]."""
    wine = load_wine()
    return train_test_split(
        wine.data.astype(np.float32),
        wine.target,
        test_size=0.25,
        random_state=SEED,
        stratify=wine.target,
    )


def train(rows, classes):
    return RandomForestClassifier(n_estimators=50, random_state=SEED).fit(rows, classes)


def to_onnx(forest):
    """`features` [batch, 13] -> `label` [batch] INT64 and `probabilities` [batch, 3] FP32."""
    opsets = {"": 15, "ai.onnx.ml": 1}
    model = convert_sklearn(
        forest,
        "wine",
        [("features", FloatTensorType([None, 13]))],
        target_opset=opsets,
        options={"zipmap": False},
    )
    # The converter lists a domain twice and leaves the free dimension without a name.
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(domain, n) for domain, n in opsets.items())
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    model.ir_version = 8
    checker.check_model(model, full_check=True)
    return model
