"""Templates: parameters, texts and refusals. What they recommend is held against recordings in test_recordings.py."""

import subprocess
import sys

import pytest
from carver.arch import CUDA, RDNA, current_arch
from carver.arch.errors import CarverError
from carver.roller.template import (
    BaseTemplate,
    ConvTemplate,
    ElementwiseTemplate,
    FlashAttentionTemplate,
    GEMVTemplate,
    GeneralReductionTemplate,
    MatmulTemplate,
)

DTYPES = "in_dtype='float16', out_dtype='float16', accum_dtype='float16'"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (
            MatmulTemplate(M=32, N=48, K=16),
            f"MatmulTemplate(M=32, N=48, K=16, trans_A=False, trans_B=True, {DTYPES}, with_bias=False)",
        ),
        (GEMVTemplate(N=48, K=16), f"GEMVTemplate(N=48, K=16, trans_B=True, {DTYPES}, with_bias=False)"),
        (
            ConvTemplate(1, 2, 3, 4, 5, 1, 1, 1, 1),
            f"ConvTemplate(N=1, C=2, H=3, W=4, F=5, K=1, S=1, D=1, P=1, {DTYPES}, with_bias=False)",
        ),
        (ElementwiseTemplate(shape=[4, 8]), "ElementwiseTemplate(shape=[4, 8], dtype='float16')"),
        # The structure is left out in carver.
        (
            GeneralReductionTemplate(structure="sR", shape=[4, 8]),
            "GeneralReductionTemplate(shape=[4, 8], dtype='float16')",
        ),
    ],
)
def test_text_of_a_template(template, text):
    assert repr(template) == text
    assert template.params_as_dict() == template.class_attributes


def test_attention_shows_its_parameters():
    """The real one raises an AttributeError here, as params_as_dict still does."""
    with current_arch(CUDA("a100")):
        template = FlashAttentionTemplate(num_heads=2, head_dim=64, seq_length=128, seq_kv_length=256)
    assert repr(template) == (
        "FlashAttentionTemplate(batch_size=1, num_heads=2, head_dim=64, seq_length=128, seq_kv_length=256, "
        f"is_causal=False, {DTYPES})"
    )
    with pytest.raises(AttributeError):
        template.params_as_dict()
    assert [len(template.equivalent_function()), len(template.output_nodes)] == [2, 1]
    names = [edge.src_node.name for edge in template.output_nodes[0].inputs[0].src_node.inputs]
    assert names == ["MMA0", "PlaceHolder_B"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MatmulTemplate(M=0, N=1, K=1), AssertionError, "M must be positive, not 0"),
        (lambda: MatmulTemplate(M=1, N=1.5, K=1), AssertionError, "N must be an integer, not 1.5"),
        (lambda: MatmulTemplate(M=-1, N=None, K=1), AssertionError, "N must be an integer, not None"),
        (lambda: GEMVTemplate(N=16), AssertionError, "K must be an integer, not None"),
        (lambda: ConvTemplate(1, 1, 1, 1, 1, 1, 1, 1, 0), AssertionError, "P must be positive, not 0"),
        (lambda: GeneralReductionTemplate(shape=[1]), AssertionError, "structure must be a string of S and R"),
        (lambda: GeneralReductionTemplate(structure="SR"), ValueError, "shape must be given"),
        (lambda: GeneralReductionTemplate(structure="SX", shape=[1, 2]), ValueError, "has 'X', only S and R"),
        (lambda: GeneralReductionTemplate(structure="SR", shape=[1]), ValueError, "has 2 axes, but shape"),
        (lambda: GeneralReductionTemplate(structure="SR", shape=[1, 0]), ValueError, "positive integers, 0 is not"),
    ],
)
def test_refused_parameters(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, CarverError)


def test_attention_needs_tensor_cores():
    with current_arch("llvm"), pytest.raises(AssertionError, match="the product MMA0 does not suit the tensor cores"):
        FlashAttentionTemplate(num_heads=2, head_dim=64, seq_length=128, seq_kv_length=256)
    with current_arch(CUDA("a100")), pytest.raises(AssertionError, match="extents of 16 and more"):
        FlashAttentionTemplate(num_heads=2, head_dim=8, seq_length=128, seq_kv_length=256)


def test_first_parameter_of_attention():
    """It is a field that is set anyway, as in carver: give parameters by name."""
    with current_arch(CUDA("a100")):
        template = FlashAttentionTemplate(None, 2, 4, 64, 128, 256)
    assert (template.batch_size, template.num_heads, template.head_dim) == (2, 4, 64)


def test_device_of_a_template():
    template = MatmulTemplate(M=32, N=32, K=32)
    for device, answers in (
        (CUDA("a100"), [False, True, False, False]),
        (CUDA("v100"), [True, False, False, False]),
        (RDNA("rx7900xtx"), None),
    ):
        assert template.with_arch(device) is template
        assert template.arch is device and template.has_arch()
        if answers is None:
            assert template.is_rdna_arch() and not template.is_cdna_arch()
        else:
            questions = (template.is_volta_arch, template.is_ampere_arch, template.is_cdna_arch, template.is_rdna_arch)
            assert [question() for question in questions] == answers
    template.with_arch(None)
    assert not (template.has_arch() or template.is_volta_arch() or template.is_cdna_arch())
    with pytest.raises(CarverError, match="arch must be a device"):
        template.recommend_hints()


def test_a_template_of_ones_own():
    class Nothing(BaseTemplate):
        def get_hardware_aware_configs(self, arch=None, topk=10):
            return []

    with pytest.raises(NotImplementedError, match="Nothing does not say how to build its function"):
        Nothing().__post_init__()
    with pytest.raises(TypeError):
        BaseTemplate()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (
            MatmulTemplate(M=32, N=48, K=16, trans_A=True, trans_B=False, accum_dtype="float32"),
            """\
C[v_i, v_j] = C[v_i, v_j] + T.Cast("float32", A[v_k, v_i]) * T.Cast("float32", B[v_k, v_j])
D[v_i, v_j] = T.Cast("float16", C[v_i, v_j])""",
        ),
        (
            ConvTemplate(1, 4, 5, 5, 8, 3, 2, 1, 1),
            """\
C[v_n, v_h, v_w, v_f] = C[v_n, v_h, v_w, v_f] + T.if_then_else(1 <= v_h * 2 + v_kh and v_h * 2 + v_kh < 6 and \
1 <= v_w * 2 + v_kw and v_w * 2 + v_kw < 6, A[v_n, v_h * 2 + v_kh - 1, v_w * 2 + v_kw - 1, v_c] * \
B[v_kh, v_kw, v_c, v_f], T.float16(0.0))""",
        ),
        (
            GeneralReductionTemplate(structure="RSR", shape=[4, 8, 16], dtype="float32"),
            "C[v_i0] = C[v_i0] + A[v_rv, v_i0, v_rv_1]",
        ),
    ],
)
def test_functions(template, text):
    """The stores of the function as the real library prints it, less the initial ones."""
    lines = [line.strip() for line in template.equivalent_function().script().splitlines()]
    stores = [line for line in lines if "] = " in line and "= T.float" not in line]
    assert "\n".join(stores) == text


def test_bias_of_a_product():
    """The real one fails too: two tensors are called Bias. A GEMV's stage has as many axes as the vector."""
    arch = CUDA("a100")
    with pytest.raises(CarverError, match="give each placeholder and each stage a name of its own"):
        MatmulTemplate(M=64, N=64, K=64, with_bias=True).with_arch(arch).recommend_hints()
    hints = GEMVTemplate(N=64, K=64, with_bias=True).with_arch(arch).recommend_hints(1)
    assert str(hints) == "[{'block': [1], 'thread': [1], 'rstep': [64], 'reduce_thread': [64]}]"


def test_a_search_does_not_import_what_it_does_not_need():
    code = (
        "import sys; from carver.arch import CUDA; from carver.roller.template import MatmulTemplate; "
        "MatmulTemplate(M=256, N=256, K=256).with_arch(CUDA('a100')).recommend_hints(); "
        "print(sorted({'networkx', 'numpy', 'torch', 'tvm'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
