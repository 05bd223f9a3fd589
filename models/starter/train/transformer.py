"""A decoder-only transformer and its training, on one thread.

Attention keeps one vector per token and layer, which is both key and value of all heads, so that a
cache is small. Scores fall linearly with distance, at a rate of each head's own (ALiBi), so that
texts may be longer than the windows seen in training.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax  # noqa: E402 (the flags are read at import)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

SEED = 7
VOCABULARY = 257
LAYERS, WIDTH, HEADS, LATENT, HIDDEN = 3, 112, 4, 32, 448
SLOPES = np.array([[8.0 ** -head] for head in range(HEADS)], np.float32)
EPSILON = 1e-5

STEPS, WARM_UP, BATCH, WINDOW, RATE = 1400, 100, 8, 256, 3e-3


def initial(random):
    def matrix(inputs, outputs, scale=1.0):
        values = random.standard_normal((inputs, outputs)) * scale / np.sqrt(inputs)
        return values.astype(np.float32)

    def ones():
        return np.ones(WIDTH, np.float32)

    quiet = 1 / np.sqrt(2 * LAYERS)  # what is added to the stream; its sum shall stay near 1
    return {
        "embedding": matrix(VOCABULARY, WIDTH, np.sqrt(VOCABULARY) * 0.1),
        "norm": ones(),
        "layers": [
            {
                "attention.norm": ones(),
                "attention.query": matrix(WIDTH, HEADS * LATENT),
                "attention.latent": matrix(WIDTH, LATENT),
                "attention.out": matrix(HEADS * LATENT, WIDTH, quiet),
                "feed.norm": ones(),
                "feed.in": matrix(WIDTH, HIDDEN),
                "feed.out": matrix(HIDDEN, WIDTH, quiet),
            }
            for _ in range(LAYERS)
        ],
    }


def normal(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * scale


def scores(weights, tokens):
    """A score for each token that could follow each of `tokens` [rows, length]."""
    rows, length = tokens.shape
    distance = np.arange(length) - np.arange(length)[:, None]
    bias = np.where(distance > 0, -np.inf, SLOPES[:, :, None] * distance)
    x = weights["embedding"][tokens]
    for layer in weights["layers"]:
        y = normal(x, layer["attention.norm"])
        latent = y @ layer["attention.latent"]
        query = (y @ layer["attention.query"]).reshape(rows, length, HEADS, LATENT)
        match = jnp.einsum("blhd,btd->bhlt", query, latent) / np.sqrt(LATENT)
        share = jax.nn.softmax(match + bias)
        mixed = jnp.einsum("bhlt,btd->blhd", share, latent).reshape(rows, length, HEADS * LATENT)
        x += mixed @ layer["attention.out"]
        y = normal(x, layer["feed.norm"])
        x += jax.nn.relu(y @ layer["feed.in"]) @ layer["feed.out"]
    return normal(x, weights["norm"]) @ weights["embedding"].T


def loss(weights, tokens):
    likely = jax.nn.log_softmax(scores(weights, tokens[:, :-1]))
    return -jnp.take_along_axis(likely, tokens[:, 1:, None], -1).mean()


@jax.jit
def adam(weights, first, second, step, tokens):
    """One step of Adam; its rate rises and then falls like a cosine."""
    value, gradients = jax.value_and_grad(loss)(weights, tokens)
    past = jnp.maximum(0, step - WARM_UP) / (STEPS - WARM_UP)
    rate = RATE * jnp.minimum(1, (step + 1) / WARM_UP) * 0.5 * (1 + jnp.cos(jnp.pi * past))
    rate *= jnp.sqrt(1 - 0.99 ** (step + 1)) / (1 - 0.9 ** (step + 1))
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    weights = jax.tree.map(
        lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second
    )
    return weights, first, second, value


def train(stream):
    """Weights that have learned from windows of `stream`, an array of tokens, drawn at random."""
    random = np.random.default_rng(SEED)
    weights = initial(random)
    first = second = jax.tree.map(np.zeros_like, weights)
    for step in range(STEPS):
        starts = random.integers(0, len(stream) - WINDOW, BATCH)
        tokens = stream[starts[:, None] + np.arange(WINDOW + 1)]
        weights, first, second, value = adam(weights, first, second, step, tokens)
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {STEPS}: loss {value:.3f}")
    return jax.tree.map(np.asarray, weights)
