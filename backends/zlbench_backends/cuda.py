"""NVIDIA cards."""

from __future__ import annotations

from zlbench.backend import Backend, Timer

BACKEND = Backend(
    name="cuda",
    title="NVIDIA CUDA",
    aliases=("nvidia", "gpu"),
    vendor="nvidia",
    visibility=("CUDA_VISIBLE_DEVICES",),
    device_module="cuda",
    supports_cuda_graph=True,
    timers=(Timer.CUDA_GRAPH, Timer.DIRECT),
    telemetry=(
        "nvidia-smi",
        "--query-gpu=index,uuid,clocks.sm,clocks.mem,temperature.gpu,power.draw,utilization.gpu",
        "--format=csv,noheader,nounits",
    ),
)
