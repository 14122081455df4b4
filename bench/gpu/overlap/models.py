"""Sizes of published models' layers, from which random_shapes.py draws."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    hidden: int
    inner: int  # of the gated feed-forward layer
    heads: int
    kv_heads: int
    head: int  # columns of a head

    @property
    def column_parallel(self):
        """N, K of the products whose columns are dealt to ranks."""
        return [((self.heads + 2 * self.kv_heads) * self.head, self.hidden), (2 * self.inner, self.hidden)]

    @property
    def row_parallel(self):
        """N, K of the products whose inner size is dealt to ranks."""
        return [(self.hidden, self.heads * self.head), (self.hidden, self.inner)]


MODELS = [
    Model("Llama 2 7B", 4096, 11008, 32, 32, 128),
    Model("Llama 2 13B", 5120, 13824, 40, 40, 128),
    Model("Llama 2 70B", 8192, 28672, 64, 8, 128),
    Model("Llama 3 8B", 4096, 14336, 32, 8, 128),
    Model("Llama 3.1 405B", 16384, 53248, 128, 8, 128),
    Model("Llama 3.2 1B", 2048, 8192, 32, 8, 64),
    Model("Llama 3.2 3B", 3072, 8192, 24, 8, 128),
    Model("Mistral Nemo 12B", 5120, 14336, 32, 8, 128),
    Model("Mistral Small 24B", 5120, 32768, 32, 8, 128),
    Model("Mistral Large 123B", 12288, 28672, 96, 8, 128),
    Model("Mixtral 8x22B", 6144, 16384, 48, 8, 128),
    Model("Qwen 2.5 0.5B", 896, 4864, 14, 2, 64),
    Model("Qwen 2.5 1.5B", 1536, 8960, 12, 2, 128),
    Model("Qwen 2.5 3B", 2048, 11008, 16, 2, 128),
    Model("Qwen 2.5 7B", 3584, 18944, 28, 4, 128),
    Model("Qwen 2.5 14B", 5120, 13824, 40, 8, 128),
    Model("Qwen 2.5 32B", 5120, 27648, 40, 8, 128),
    Model("Qwen 2.5 72B", 8192, 29568, 64, 8, 128),
    Model("Qwen 3 0.6B", 1024, 3072, 16, 8, 128),
    Model("Qwen 3 1.7B", 2048, 6144, 16, 8, 128),
    Model("Qwen 3 4B", 2560, 9728, 32, 8, 128),
    Model("Qwen 3 8B", 4096, 12288, 32, 8, 128),
    Model("Qwen 3 14B", 5120, 17408, 40, 8, 128),
    Model("Qwen 3 32B", 5120, 25600, 64, 8, 128),
    Model("Gemma 2 2B", 2304, 9216, 8, 4, 256),
    Model("Gemma 2 9B", 3584, 14336, 16, 8, 256),
    Model("Gemma 2 27B", 4608, 36864, 32, 16, 128),
    Model("Gemma 3 4B", 2560, 10240, 8, 4, 256),
    Model("Gemma 3 12B", 3840, 15360, 16, 8, 256),
    Model("Gemma 3 27B", 5376, 21504, 32, 16, 128),
    Model("Phi 3 mini", 3072, 8192, 32, 32, 96),
    Model("Phi 3 medium", 5120, 17920, 40, 10, 128),
    Model("Yi 6B", 4096, 11008, 32, 4, 128),
    Model("Yi 34B", 7168, 20480, 56, 8, 128),
    Model("DeepSeek LLM 67B", 8192, 22016, 64, 8, 128),
    Model("InternLM 2 20B", 6144, 16384, 48, 8, 128),
    Model("Command R+", 12288, 33792, 96, 8, 128),
    Model("Granite 3 8B", 4096, 12800, 32, 8, 128),
    Model("GLM 4 9B", 4096, 13696, 32, 2, 128),
    Model("GLM 4 32B", 6144, 23040, 48, 2, 128),
]
