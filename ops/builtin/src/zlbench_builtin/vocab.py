"""embedding lookup and cross entropy: the two ends of a language model."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_VOCAB_BLOCK = 4096


@triton.jit
def embedding_kernel(index_ptr, table_ptr, y_ptr, D, BLOCK_D: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    row = tl.load(index_ptr + token).to(tl.int64)
    tl.store(y_ptr + token * D + cols, tl.load(table_ptr + row * D + cols, mask=cols < D), mask=cols < D)


def embedding(index: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Rows `index` [...] (int64) of table [V, D]."""
    d = table.shape[1]
    index, table = index.contiguous(), table.contiguous()
    y = torch.empty((*index.shape, d), dtype=table.dtype, device=table.device)
    block = triton.next_power_of_2(d)
    embedding_kernel[(index.numel(),)](index, table, y, d, BLOCK_D=block, num_warps=min(max(block // 512, 1), 8))
    return y


@triton.jit
def cross_entropy_kernel(logits_ptr, label_ptr, loss_ptr, V, stride, ignore_index, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    logits_ptr += row * stride
    if label == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        return
    cols = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    z = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        x = tl.load(logits_ptr + start + cols, mask=start + cols < V, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        alive = m_new > -float("inf")
        z = z * tl.where(alive, tl.exp(m - m_new), 1.0) + tl.where(alive, tl.exp(x - m_new), 0.0)
        m = m_new
    top = tl.max(m, axis=0)
    log_sum = top + tl.log(tl.sum(tl.where(m > -float("inf"), z * tl.exp(m - top), 0.0), axis=0))
    tl.store(loss_ptr + row, log_sum - tl.load(logits_ptr + label).to(tl.float32))


@triton.jit
def mean_kept_kernel(loss_ptr, label_ptr, out_ptr, N, ignore_index, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    kept = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        mask = start + cols < N
        label = tl.load(label_ptr + start + cols, mask=mask, other=ignore_index)
        total += tl.load(loss_ptr + start + cols, mask=mask, other=0.0)
        kept += (label != ignore_index).to(tl.float32)
    mean = tl.sum(total, axis=0) / tl.sum(kept, axis=0)
    tl.store(out_ptr, mean.to(out_ptr.dtype.element_ty))


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    """Mean loss of logits [N, V] against int64 labels [N], ignored ones left out; computed in fp32."""
    n, v = logits.shape
    logits, labels = logits.contiguous(), labels.contiguous()
    loss = torch.empty(n, dtype=torch.float32, device=logits.device)
    out = torch.empty((), dtype=logits.dtype, device=logits.device)
    cross_entropy_kernel[(n,)](logits, labels, loss, v, logits.stride(0), ignore_index, BLOCK=_VOCAB_BLOCK, num_warps=8)
    mean_kept_kernel[(1,)](loss, labels, out, n, ignore_index, BLOCK=1024, num_warps=4)
    return out
