"""Triton's side of the models in ../fixtures.ts: the sum of the inputs, times the version."""

import json

import triton_python_backend_utils as backend


class TritonPythonModel:
    def initialize(self, args):
        self.factor = int(args["model_version"])
        self.output = json.loads(args["model_config"])["output"][0]["name"]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        result, *others = [tensor.as_numpy() for tensor in request.inputs()]
        for other in others:
            result = result + other
        if self.factor != 1:
            result = result * self.factor
        return backend.InferenceResponse([backend.Tensor(self.output, result)])
