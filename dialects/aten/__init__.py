"""ATen ops as PyTorch's captures contain them: one signature per op, with all arguments given.

    %y = "aten.sum.dim_IntList"(%x) <{tensors = [[1]]}> {dim = [1], keepdim = false} : ...

Sizes that depend on named dims are written `"=2*N + 1"`, floats that do `"N / 4"`.
"""

from xdsl.ir import Dialect

ATEN = Dialect("aten", [])
"""Its op classes are created on first use: `dialects.aten.ops.op_class`."""
