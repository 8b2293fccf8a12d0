"""Which precisions the hardware computes in."""

import torch


def native_precision(device: torch.device) -> str:
    """Returns "bf16" where the device computes in it natively, else "fp32"."""
    if device.type == "cuda":
        is_native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        is_native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if is_native else "fp32"


def computes_int8() -> bool:
    """Tells whether the processor multiplies int8 faster than other numbers."""
    return torch.cpu._is_vnni_supported() or torch.cpu._is_amx_tile_supported()


def instruction_sets() -> list[str]:
    """Returns those of the processor's instruction sets that networks are computed with."""
    known = {
        "AVX2": torch.cpu._is_avx2_supported,
        "AVX-512": torch.cpu._is_avx512_supported,
        "VNNI": torch.cpu._is_vnni_supported,
        "AVX-512 bf16": torch.cpu._is_avx512_bf16_supported,
        "AMX": torch.cpu._is_amx_tile_supported,
    }
    return [name for name, is_supported in known.items() if is_supported()]
