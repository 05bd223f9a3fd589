"""Every call of tritonclient.http that a gateway without shared memory can answer.

Usage: tritonclient_check.py HOST:PORT MODEL.onnx
Prints one JSON object a line for each check: {"name": ..., "problem": null or text}.
"""

import json
import sys
import traceback

import ml_dtypes
import numpy as np
from tritonclient.http import (
    InferenceServerClient,
    InferInput,
    InferRequestedOutput,
    InferResult,
)
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

ADDRESS, MODEL_FILE = sys.argv[1:3]
CHECKS = []


def check(function):
    """Adds a check; its name is the function's, with blanks."""
    CHECKS.append((function.__name__.replace("_", " "), function))
    return function


def tensor(name, array, binary=True):
    """An input with an array's shape, datatype and data."""
    array = np.asarray(array)
    made = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    return made.set_data_from_numpy(array, binary_data=binary)


def fp32(rows, width, value=1.0):
    return np.full((rows, width), value, np.float32)


def same(got, expected):
    """Bit for bit, NaN included; the datatype too."""
    expected = np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    assert got.dtype == expected.dtype, f"dtype {got.dtype}, expected {expected.dtype}"
    if got.dtype == np.object_:
        assert got.tolist() == expected.tolist(), f"{got}, expected {expected}"
    else:
        assert got.tobytes() == expected.tobytes(), f"{got}, expected {expected}"


def as_bytes(array):
    """Strings, which is how tritonclient gives BYTES that came as JSON, as the bytes they stand for."""
    if array.dtype != np.object_:
        return array
    encoded = [item if isinstance(item, bytes) else item.encode() for item in array.flat]
    return np.array(encoded, np.object_).reshape(array.shape)


def equal(got, expected):
    assert got == expected, f"{got!r}, expected {expected!r}"


def refused(call, status, *words):
    """The call raises with this status, and its message holds the words."""
    try:
        call()
    except InferenceServerException as error:
        equal(error.status(), str(status))
        for word in words:
            assert word in error.message(), f"{word!r} is not in {error.message()!r}"
    else:
        raise AssertionError(f"answered, expected status {status}")


def float_values(dtype):
    """Ordinary, extreme and special values of a type of floating-point number."""
    limits = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 1.5, limits.max, limits.min, limits.smallest_subnormal]
    return np.array([*values, np.inf, -np.inf, np.nan], dtype)


def integer_values(dtype):
    limits = np.iinfo(dtype)
    return np.array([0, 1, limits.min, limits.max], dtype)


VALUES = {
    "BOOL": np.array([True, False]),
    **{f"INT{bits}": integer_values(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": integer_values(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "FP16": float_values(np.float16),
    "BF16": float_values(ml_dtypes.bfloat16),
    "FP32": float_values(np.float32),
    "FP64": float_values(np.float64),
    "BYTES": np.array([b"", b"plain", b"\x00\x00", b"\xff\xfe\x00\x80", "é".encode()], np.object_),
}


# Server and models


@check
def is_server_live(client):
    assert client.is_server_live()


@check
def is_server_ready(client):
    assert client.is_server_ready()


@check
def is_model_ready(client):
    assert client.is_model_ready("add")
    assert client.is_model_ready("add", "1")
    assert not client.is_model_ready("add", "7")
    assert not client.is_model_ready("nobody")
    assert not client.is_model_ready("broken")


@check
def get_server_metadata(client):
    metadata = client.get_server_metadata()
    equal(set(metadata), {"name", "version", "extensions"})
    for extension in ("binary_tensor_data", "classification", "model_configuration", "statistics"):
        assert extension in metadata["extensions"], extension


@check
def get_model_metadata(client):
    metadata = client.get_model_metadata("mlp")
    equal(metadata["name"], "mlp")
    equal(metadata["versions"], ["1"])
    equal(metadata["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 784]}])
    equal(metadata["outputs"], [{"name": "y", "datatype": "FP32", "shape": [-1, 10]}])
    equal(client.get_model_metadata("versions")["versions"], ["1", "2"])
    equal(client.get_model_metadata("versions", "1")["versions"], ["1"])


@check
def get_model_config(client):
    config = client.get_model_config("mlp")
    equal(config["name"], "mlp")
    equal(config["max_batch_size"], 8)
    equal(config["input"][0]["data_type"], "TYPE_FP32")
    equal(config["input"][0]["dims"], [784])
    equal(config["output"][0]["label_filename"], "labels.txt")
    assert "dynamic_batching" in config


@check
def get_model_repository_index(client):
    rows = {(row["name"], row.get("version")): row for row in client.get_model_repository_index()}
    equal(rows["mlp", "1"]["state"], "READY")
    equal(rows["versions", "2"]["state"], "READY")
    broken = [row for (name, _), row in rows.items() if name == "broken"]
    equal([row["state"] for row in broken], ["UNAVAILABLE"])
    assert broken[0]["reason"]


# Tensors


def datatype_check(datatype, values, binary):
    """An identity gives back the values, however its answer is asked for."""

    def identity(client):
        for outputs in ([InferRequestedOutput("y", binary_data=binary)], None):
            result = client.infer(datatype, [tensor("x", values, binary)], outputs=outputs)
            same(as_bytes(result.as_numpy("y")), values)
            equal(result.get_output("y")["datatype"], datatype)

    CHECKS.append((f"infer {datatype} {'binary' if binary else 'JSON'}", identity))


for datatype, values in VALUES.items():
    datatype_check(datatype, values, True)
    if datatype == "BYTES":
        datatype_check(datatype, np.array([b"", b"\x00", "é\U0001f600".encode()], np.object_), False)
    elif datatype not in ("FP16", "BF16"):
        datatype_check(datatype, values, False)


@check
def infer_FP16_JSON_is_refused(client):
    for datatype in ("FP16", "BF16"):
        outputs = [InferRequestedOutput("y", binary_data=False)]
        refused(lambda: client.infer(datatype, [tensor("x", VALUES[datatype])], outputs=outputs), 400, datatype)
    refused(lambda: client.infer("FP16", [tensor("x", VALUES["FP16"], False)]), 400, "FP16")


@check
def infer_empty_tensors(client):
    for datatype, values in VALUES.items():
        same(client.infer(datatype, [tensor("x", values[:0])]).as_numpy("y"), values[:0])


@check
def infer_strings_of_fixed_width(client):
    words = np.array([b"fixed", b"width"], "S5")
    same(client.infer("BYTES", [tensor("x", words)]).as_numpy("y"), words.astype(np.object_))


@check
def infer_a_megabyte(client):
    values = np.arange(1 << 18, dtype=np.float32)
    for binary in (True, False):
        outputs = [InferRequestedOutput("y", binary_data=binary)]
        same(client.infer("FP32", [tensor("x", values, binary)], outputs=outputs).as_numpy("y"), values)


@check
def infer_mixed_encodings(client):
    a, b = fp32(2, 4), fp32(2, 4, 0.1)
    for binary in ((True, False), (False, True)):
        inputs = [tensor("b", b, binary[0]), tensor("a", a, binary[1])]
        same(client.infer("add", inputs).as_numpy("sum"), a + b)


@check
def infer_result_names_model_and_request(client):
    result = client.infer("versions", [tensor("x", fp32(1, 4))], request_id="request 7")
    response = result.get_response()
    equal(response["id"], "request 7")
    equal(response["model_name"], "versions")
    equal(response["model_version"], "2")
    assert result.as_numpy("unknown") is None
    without_id = client.infer("versions", [tensor("x", fp32(1, 4))]).get_response()
    assert "id" not in without_id, without_id


@check
def infer_a_version(client):
    for version, factor in (("1", 1), ("2", 2), ("", 2)):
        result = client.infer("versions", [tensor("x", fp32(3, 4))], model_version=version)
        same(result.as_numpy("y"), fp32(3, 4, factor))


@check
def infer_custom_parameters_query_and_headers(client):
    result = client.infer(
        "versions",
        [tensor("x", fp32(1, 4))],
        parameters={"text": "a", "number": 1, "flag": True, "real": 0.5},
        query_params={"trace": "a b", "many": [1, 2]},
        headers={"X-Request-Id": "7"},
    )
    same(result.as_numpy("y"), fp32(1, 4, 2))


# Classification


@check
def classification_with_labels(client):
    x = tensor("x", np.linspace(-1, 1, 2 * 784, dtype=np.float32).reshape(2, 784))
    scores = client.infer("mlp", [x]).as_numpy("y")
    for binary in (True, False):
        outputs = [InferRequestedOutput("y", binary_data=binary, class_count=3)]
        classes = as_bytes(client.infer("mlp", [x], outputs=outputs).as_numpy("y"))
        equal(classes.shape, (2, 3))
        for row, row_scores in zip(classes, scores):
            for text, index in zip(row, np.argsort(-row_scores)):
                equal(text, f"{row_scores[index]:.6f}:{index}:digit {index}".encode())


@check
def classification_without_labels(client):
    values = np.array([0.25, 1.0, -3.0], np.float32)
    outputs = [InferRequestedOutput("y", class_count=99)]
    classes = client.infer("FP32", [tensor("x", values)], outputs=outputs).as_numpy("y")
    equal(classes.tolist(), [b"1.000000:1", b"0.250000:0", b"-3.000000:2"])


# Compression


def compression_check(request, response):
    def compressed(client):
        values = np.arange(5000, dtype=np.float32)
        for binary in (True, False):
            outputs = [InferRequestedOutput("y", binary_data=binary)]
            arguments = dict(request_compression_algorithm=request, response_compression_algorithm=response)
            result = client.infer("FP32", [tensor("x", values, binary)], outputs=outputs, **arguments)
            same(result.as_numpy("y"), values)

    CHECKS.append((f"infer with request {request}, response {response}", compressed))


for request in (None, "gzip", "deflate"):
    for response in (None, "gzip", "deflate"):
        if request or response:
            compression_check(request, response)


# Sequences


def total_of(client, model, sequence_id, *values):
    """The totals after each of these values, sent as requests of one sequence, which they begin."""
    totals = []
    for i, value in enumerate(values):
        x = tensor("x", fp32(1, 2, value))
        result = client.infer(model, [x], sequence_id=sequence_id, sequence_start=i == 0)
        totals.append(result.as_numpy("y")[0, 0])
    return totals


@check
def sequences_keep_their_state_under_numbers_and_strings(client):
    for model in ("total", "voice"):
        for sequence_id in (7, 2**53 - 1, "seven", "7"):
            equal(total_of(client, model, sequence_id, 1, 2, 3), [1, 3, 6])
            # The state starts anew, also where nobody has ended what was before.
            equal(total_of(client, model, sequence_id, 5, 5), [5, 10])


@check
def sequences_take_turns(client):
    def go_on(sequence_id, value, **flags):
        x = tensor("x", fp32(1, 2, value), binary=sequence_id % 2 == 0)
        return client.infer("total", [x], sequence_id=sequence_id, **flags).as_numpy("y")[0, 0]

    ids = range(11, 19)
    for sequence_id in ids:
        equal(go_on(sequence_id, sequence_id, sequence_start=True), sequence_id)
    for sequence_id in ids:
        equal(go_on(sequence_id, 1), sequence_id + 1)
    for sequence_id in ids:
        equal(go_on(sequence_id, 1, sequence_end=True), sequence_id + 2)
    for sequence_id in ids:
        refused(lambda: go_on(sequence_id, 1), 400, "START", str(sequence_id))


@check
def sequences_of_many_clients_at_once(client):
    x = [tensor("x", fp32(1, 2))]
    for round in range(5):
        flags = dict(sequence_start=round == 0, sequence_end=round == 4)
        calls = [client.async_infer("total", x, sequence_id=100 + i, **flags) for i in range(8)]
        for call in calls:
            same(call.get_result().as_numpy("y"), fp32(1, 2, round + 1))


@check
def sequences_of_one_request(client):
    x = [tensor("x", fp32(1, 2))]
    for _ in range(2):
        result = client.infer("total", x, sequence_id=21, sequence_start=True, sequence_end=True)
        same(result.as_numpy("y"), fp32(1, 2))
    refused(lambda: client.infer("total", x, sequence_id=21), 400, "START")


@check
def sequences_show_no_state(client):
    names = lambda tensors: [tensor["name"] for tensor in tensors]
    metadata = client.get_model_metadata("total")
    equal([names(metadata["inputs"]), names(metadata["outputs"])], [["x"], ["y"]])
    assert "sequence_batching" in client.get_model_config("total")
    extensions = client.get_server_metadata()["extensions"]
    assert "sequence" in extensions and "sequence(string_id)" in extensions, extensions
    result = client.infer("voice", [tensor("x", fp32(1, 2))], sequence_id=3, sequence_start=True)
    equal(names(result.get_response()["outputs"]), ["y"])


@check
def sequences_refuse_what_is_none(client):
    x = tensor("x", fp32(1, 2))
    wide = tensor("x", fp32(1, 4))
    refused(lambda: client.infer("total", [x]), 400, "correlation ID")
    refused(lambda: client.infer("total", [x], sequence_start=True), 400)
    refused(lambda: client.infer("total", [x], sequence_id=31, sequence_end=True), 400, "START")
    refused(lambda: client.infer("versions", [wide], sequence_id=5, sequence_start=True), 400, "carry")
    state = [InferRequestedOutput("total_next")]
    arguments = dict(sequence_id=33, sequence_start=True)
    refused(lambda: client.infer("voice", [x], outputs=state, **arguments), 400, "total_next")
    refused(lambda: client.infer("voice", [x, tensor("total", fp32(1, 2))], **arguments), 400, "total")


@check
def sequences_are_not_needed_where_a_request_brings_its_state(client):
    result = client.infer("voice", [tensor("x", fp32(3, 2)), tensor("total", fp32(3, 2, 4))])
    same(result.as_numpy("y"), fp32(3, 2, 5))
    same(result.as_numpy("total_next"), fp32(3, 2, 5))


# Scheduling


@check
def async_infer(client):
    values = [fp32(1, 784, i / 32) for i in range(32)]
    pending = [client.async_infer("mlp", [tensor("x", x)], request_id=str(i)) for i, x in enumerate(values)]
    for i, request in enumerate(pending):
        result = request.get_result(timeout=30)
        equal(result.get_response()["id"], str(i))
        alone = client.infer("mlp", [tensor("x", values[i])]).as_numpy("y")
        np.testing.assert_allclose(result.as_numpy("y"), alone, rtol=1e-5, atol=1e-6)


@check
def async_infer_reports_errors(client):
    refused(lambda: client.async_infer("nobody", [tensor("x", fp32(1, 4))]).get_result(), 404, "nobody")


@check
def priority(client):
    for level in (1, 2, 1000):
        same(client.infer("versions", [tensor("x", fp32(1, 4))], priority=level).as_numpy("y"), fp32(1, 4, 2))


@check
def timeout(client):
    x = tensor("x", fp32(1, 4))
    same(client.infer("versions", [x], timeout=60_000_000).as_numpy("y"), fp32(1, 4, 2))
    refused(lambda: client.infer("versions", [x], timeout=1), 504)


# Bodies made and read by hand


@check
def generate_request_body_and_parse_response_body(client):
    values = np.arange(6, dtype=np.float32)
    for binary in (True, False):
        body, json_size = InferenceServerClient.generate_request_body(
            [tensor("x", values, binary)], outputs=[InferRequestedOutput("y", binary_data=binary)]
        )
        headers = {} if json_size is None else {"Inference-Header-Content-Length": json_size}
        response = client._post("v2/models/FP32/infer", body, headers, None)
        equal(response.status_code, 200)
        length = response.get("Inference-Header-Content-Length")
        equal(length is not None, binary)
        result = InferenceServerClient.parse_response_body(
            response.read(), header_length=None if length is None else int(length)
        )
        same(result.as_numpy("y"), values)


@check
def raw_request_body(client):
    values = np.arange(6, dtype=np.float32)
    headers = {"Inference-Header-Content-Length": 0}
    response = client._post("v2/models/FP32/infer", values.tobytes(), headers, None)
    equal(response.status_code, 200)
    same(InferResult(response, False).as_numpy("y"), values)


# Loading and unloading


@check
def load_model_and_unload_model(client):
    client.unload_model("gather")
    assert not client.is_model_ready("gather")
    refused(lambda: client.infer("gather", [tensor("index", np.array([1]))]), 503, "gather")
    refused(lambda: client.get_model_metadata("gather"), 503, "gather")
    client.load_model("gather")
    assert client.is_model_ready("gather")
    same(client.infer("gather", [tensor("index", np.array([7]))]).as_numpy("value"), np.array([70], np.float32))
    client.unload_model("gather", unload_dependents=True)
    client.unload_model("gather")
    client.load_model("gather")


@check
def load_model_with_config(client):
    config = client.get_model_config("mlp")
    config["max_batch_size"] = 4
    client.load_model("mlp", config=json.dumps(config))
    try:
        equal(client.get_model_config("mlp")["max_batch_size"], 4)
        refused(lambda: client.infer("mlp", [tensor("x", fp32(5, 784))]), 400, "4")
    finally:
        client.unload_model("mlp")
        client.load_model("mlp")
    equal(client.get_model_config("mlp")["max_batch_size"], 8)


@check
def load_model_with_files(client):
    with open(MODEL_FILE, "rb") as file:
        model = file.read()
    config = json.dumps({"backend": "onnxruntime", "max_batch_size": 0})
    client.load_model("uploaded", config=config, files={"file:3/model.onnx": model})
    equal(client.get_model_metadata("uploaded")["versions"], ["3"])
    result = client.infer("uploaded", [tensor("a", fp32(1, 4)), tensor("b", fp32(1, 4))])
    same(result.as_numpy("sum"), fp32(1, 4, 2))
    client.unload_model("uploaded")
    assert not client.is_model_ready("uploaded")


@check
def load_model_refuses_what_is_broken(client):
    refused(lambda: client.load_model("nobody"), 404, "nobody")
    refused(lambda: client.load_model("broken"), 400, "broken")
    refused(lambda: client.load_model("mlp", config="{"), 400, "config")
    refused(lambda: client.load_model("mlp", config=json.dumps({"max_batch_sise": 1})), 400, "max_batch_sise")
    assert client.is_model_ready("mlp")


# Statistics


@check
def get_inference_statistics(client):
    def read():
        (row,) = client.get_inference_statistics("versions", "1")["model_stats"]
        return row

    before = read()
    for rows in (1, 3):
        client.infer("versions", [tensor("x", fp32(rows, 4))], model_version="1")
    after = read()
    equal(after["name"], "versions")
    equal(after["version"], "1")
    for key in ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"):
        equal(set(after["inference_stats"][key]), {"count", "ns"})
    equal(after["inference_stats"]["success"]["count"] - before["inference_stats"]["success"]["count"], 2)
    equal(after["execution_count"] - before["execution_count"], 2)
    assert after["last_inference"] >= before["last_inference"]
    executions = sum(size["compute_infer"]["count"] for size in after["batch_stats"])
    equal(executions, after["execution_count"])
    rows = sum(size["batch_size"] * size["compute_infer"]["count"] for size in after["batch_stats"])
    equal(rows, after["inference_count"])
    assert len(client.get_inference_statistics()["model_stats"]) > 10
    refused(lambda: client.get_inference_statistics("nobody"), 404, "nobody")


# Errors


@check
def errors_name_an_unknown_model(client):
    for call in (client.get_model_metadata, client.get_model_config):
        refused(lambda: call("nobody"), 404, "nobody")
    refused(lambda: client.infer("nobody", [tensor("x", fp32(1, 4))]), 404, "nobody")
    refused(lambda: client.infer("add", [tensor("a", fp32(1, 4))], model_version="9"), 404, "add", "9")
    refused(lambda: client.infer("a/b", [tensor("a", fp32(1, 4))]), 404)
    refused(lambda: client.infer("../add", [tensor("a", fp32(1, 4))]), 404)


@check
def errors_name_a_broken_model(client):
    refused(lambda: client.infer("broken", [tensor("a", fp32(1, 4))]), 503, "broken")


@check
def errors_name_a_wrong_shape(client):
    refused(lambda: client.infer("mlp", [tensor("x", fp32(1, 783))]), 400, "x", "784", "783")
    refused(lambda: client.infer("mlp", [tensor("x", fp32(9, 784))]), 400, "8", "9")
    refused(lambda: client.infer("mlp", [tensor("x", np.zeros(784, np.float32))]), 400, "x", "784")
    refused(lambda: client.infer("add", [tensor("a", fp32(1, 4)), tensor("b", fp32(1, 5))]), 400, "b")


@check
def errors_name_a_wrong_datatype(client):
    refused(lambda: client.infer("mlp", [tensor("x", np.zeros((1, 784)))]), 400, "x", "FP32", "FP64")


@check
def errors_name_inputs_that_miss_or_are_unknown(client):
    a, b = tensor("a", fp32(1, 4)), tensor("b", fp32(1, 4))
    refused(lambda: client.infer("add", [a]), 400, "'b'")
    refused(lambda: client.infer("add", [a, b, tensor("c", fp32(1, 4))]), 400, "'c'")
    refused(lambda: client.infer("add", [a, b, b]), 400, "'b'")
    refused(lambda: client.infer("add", [a, InferInput("b", [1, 4], "FP32")]), 400, "'b'")
    refused(lambda: client.infer("add", [a, b], outputs=[InferRequestedOutput("total")]), 400, "total")


@check
def errors_carry_the_failure_of_a_model(client):
    refused(lambda: client.infer("gather", [tensor("index", np.array([99]))]), 500)
    same(client.infer("gather", [tensor("index", np.array([1]))]).as_numpy("value"), np.array([10], np.float32))


@check
def errors_name_what_is_not_offered(client):
    x = tensor("x", fp32(1, 4))
    shared = InferInput("x", [1, 4], "FP32")
    shared.set_shared_memory("region", 16)
    refused(lambda: client.infer("versions", [shared]), 501, "memory")
    for call in (client.get_system_shared_memory_status, client.get_trace_settings, client.get_log_settings):
        refused(call, 404)


def main():
    for name, run in CHECKS:
        problem = None
        try:
            with InferenceServerClient(ADDRESS, concurrency=8) as client:
                run(client)
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[1].lineno
            problem = f"line {line}: {type(error).__name__}: {error}"
        print(json.dumps({"name": name, "problem": problem}), flush=True)


main()
