"""Kernels that the stages of a run are made of: names as they stand in real reports, and shapes."""

from __future__ import annotations

from dataclasses import dataclass

from rlviz.demo.plan import Stage

__all__ = ["KERNELS", "SIDE_KERNELS", "Kernel"]


@dataclass(frozen=True)
class Kernel:
    """One kernel: its share of its span, names, and launch geometry.

    `short` is empty where the demangled and the short name are the same (no C++ name).
    """

    weight: float
    demangled: str
    short: str = ""
    registers: int = 32
    block: int = 128
    grid: int = 1024
    shared: int = 0
    api: str = "cudaLaunchKernel_v7000"


_DRIVER = "cuLaunchKernelEx"
_EXTENDED = "cudaLaunchKernelExC_v11060"


def _gemm(weight: float, name: str, grid: int = 1056) -> Kernel:
    return Kernel(weight, name, "", 168, 384, grid, 214_016, _EXTENDED)


def _elementwise(weight: float, functor: str, arrays: int = 3) -> Kernel:
    return Kernel(
        weight,
        f"void at::native::vectorized_elementwise_kernel<(int)4, {functor}, "
        f"std::array<char *, (unsigned long){arrays}>>(int, T2, T3)",
        "vectorized_elementwise_kernel",
        28,
        128,
        32_768,
    )


def _triton(weight: float, name: str, grid: int = 16_384) -> Kernel:
    return Kernel(weight, name, "", 40, 256, grid, 1_024, _DRIVER)


def _nccl(name: str) -> Kernel:
    demangled = f"{name}(ncclDevKernelArgsStorage<(unsigned long)4096>)"
    return Kernel(1.0, demangled, name, 96, 544, 24, 82_240, _EXTENDED)


_ADD = _elementwise(0.03, "at::native::CUDAFunctor_add<c10::BFloat16>")
_COPY = Kernel(
    0.04,
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() "
    "(instance 12)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, "
    "(unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, unsigned int>, "
    "TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithCast<(int)1>, "
    "at::native::memory::StoreWithCast<(int)1>>(int, T1, T2, T4, T5, T6, T7)",
    "unrolled_elementwise_kernel",
    32,
    128,
    65_536,
)
_FLASH_TRAITS = (
    "Flash_{0}_kernel_traits<(int)128, (int)128, (int){1}, (int){2}, (bool)0, (bool)0, "
    "cutlass::bfloat16_t>"
)
_FLASH_FORWARD = Kernel(
    0.17,
    f"void flash::flash_fwd_kernel<{_FLASH_TRAITS.format('fwd', 64, 4)}, (bool)0, (bool)1, (bool)0,"
    " (bool)0, (bool)1, (bool)1, (bool)0, (bool)0>(flash::Flash_fwd_params)",
    "flash_fwd_kernel",
    255,
    128,
    2_048,
    81_920,
)
_FLASH_BACKWARD = Kernel(
    0.24,
    "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<"
    f"{_FLASH_TRAITS.format('bwd', 128, 8)}, (bool)0, (bool)1, (bool)0, (bool)0, (bool)0, (bool)1, "
    "(bool)0>(flash::Flash_bwd_params)",
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
    255,
    256,
    1_024,
    147_456,
)
_SOFTMAX = Kernel(
    0.05,
    "void at::native::<unnamed>::cunn_SoftMaxForward<(int)8, float, float, float, "
    "at::native::<unnamed>::LogSoftMaxForwardEpilogue>(T4 *, const T2 *, int)",
    "cunn_SoftMaxForward",
    40,
    1_024,
    8_192,
    128,
)
_NORM = Kernel(
    0.03,
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, (int)8>(T1 *, T1 *, const T1 *, float, "
    "int, int)",
    "fused_add_rms_norm_kernel",
    32,
    512,
    256,
    256,
)
_ROPE = Kernel(
    0.03,
    "void vllm::rotary_embedding_kernel<c10::BFloat16, (bool)1>(const long *, T1 *, T1 *, "
    "const T1 *, int, long, long, int, int, int)",
    "rotary_embedding_kernel",
    24,
    512,
    256,
)
_CACHE = Kernel(
    0.03,
    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
    "(vllm::Fp8KVCacheDataType)0>(const T1 *, const T1 *, T2 *, T2 *, const long *, long, long, "
    "long, long, int, int, int, const float *, const float *)",
    "reshape_and_cache_flash_kernel",
    20,
    512,
    256,
)
_SILU = Kernel(
    0.04,
    "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, (bool)1>"
    "(T1 *, const T1 *, int)",
    "act_and_mul_kernel",
    24,
    1_024,
    256,
)
_SPLIT_KV = Kernel(
    0.30,
    f"void flash::flash_fwd_splitkv_kernel<{_FLASH_TRAITS.format('fwd', 64, 4)}, (bool)1, (bool)0, "
    "(bool)0, (bool)0, (bool)1, (bool)0, (bool)1, (bool)0>(flash::Flash_fwd_params)",
    "flash_fwd_splitkv_kernel",
    255,
    128,
    264,
    81_920,
)
_COMBINE = Kernel(
    0.03,
    "void flash::flash_fwd_splitkv_combine_kernel<"
    f"{_FLASH_TRAITS.format('fwd', 64, 4)}, (int)4, (int)5, (bool)1>(flash::Flash_fwd_params)",
    "flash_fwd_splitkv_combine_kernel",
    48,
    128,
    512,
    2_080,
)
_TOP_P = Kernel(
    0.05,
    "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<(unsigned int)1024, "
    "(cub::BlockScanAlgorithm)0, (cub::BlockReduceAlgorithm)2, (unsigned int)4, (bool)1, float, "
    "int>(T6 *, T7 *, T6 *, T7 *, T6, T7, unsigned int, unsigned long, unsigned long)",
    "TopKTopPSamplingFromProbKernel",
    64,
    1_024,
    256,
    8_448,
)
_ADAM = Kernel(
    0.55,
    "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
    "FusedOptimizerTensorListMetadata<(int)4>, at::native::<unnamed>::FusedAdamMathFunctor<float, "
    "(int)4, (at::native::ADAM_MODE)1, (bool)0>, const float *, double, double, double, double, "
    "double, bool, const float *, const float *>(T1, T2, T3...)",
    "multi_tensor_apply_kernel",
    64,
    512,
    320,
    512,
)
_CLIP = Kernel(
    0.25,
    "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
    "TensorListMetadata<(int)1>, at::native::<unnamed>::LpNormFunctor<float, (at::native::NormType)"
    "1, float, (int)1, (int)1, (int)0>, float *, int>(T1, T2, T3...)",
    "multi_tensor_apply_kernel",
    40,
    512,
    320,
    64,
)

# In the order in which they run; a span with fewer parts keeps the heaviest.
KERNELS: dict[Stage, tuple[Kernel, ...]] = {
    Stage.FORWARD: (
        _triton(0.03, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"),
        _gemm(0.15, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"),
        _triton(0.02, "triton_poi_fused_add_cat_mul_neg_1"),
        _FLASH_FORWARD,
        _gemm(0.11, "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT"),
        _ADD,
        _triton(0.03, "triton_red_fused__to_copy_mean_mul_pow_rsqrt_2"),
        _gemm(0.23, "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT", 2112),
        _triton(0.04, "triton_poi_fused_mul_silu_3"),
        _gemm(0.19, "nvjet_tst_256x128_64x4_1x2_h_bz_coopB_TNT", 2112),
        _ADD,
        _COPY,
    ),
    Stage.BACKWARD: (
        _elementwise(
            0.03,
            "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16,"
            " at::native::binary_internal::MulFunctor<float>>",
        ),
        _gemm(0.12, "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 2112),
        _gemm(0.12, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NTT", 2112),
        _triton(0.04, "triton_poi_fused_mul_silu_silu_backward_4"),
        Kernel(
            0.11,
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_nt_"
            "align8>(T1::Params)",
            "Kernel2",
            230,
            256,
            1_024,
            147_456,
        ),
        _gemm(0.11, "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_NNN", 2112),
        _triton(0.03, "triton_red_fused__to_copy_add_div_mul_pow_sum_5"),
        _FLASH_BACKWARD,
        Kernel(
            0.03,
            "void flash::flash_bwd_convert_dq_kernel<"
            f"{_FLASH_TRAITS.format('bwd', 128, 8)}>(flash::Flash_bwd_params, int)",
            "flash_bwd_convert_dq_kernel",
            64,
            256,
            1_024,
            16_384,
        ),
        _gemm(0.07, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN"),
        Kernel(
            0.07,
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_warpgroupsize1x1x1_execute"
            "_segment_k_off_kernel__5x_cublas",
            "",
            168,
            384,
            1_056,
            214_016,
            _EXTENDED,
        ),
        _ADD,
    ),
    Stage.OPTIMIZER: (
        _CLIP,
        _elementwise(
            0.05,
            "at::native::AUnaryFunctor<float, float, float, at::native::"
            "binary_internal::MulFunctor<float>>",
            2,
        ),
        _ADAM,
        _COPY,
    ),
    Stage.PREFILL: (
        _NORM,
        _gemm(0.16, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN"),
        _ROPE,
        _CACHE,
        _FLASH_FORWARD,
        _gemm(0.12, "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNN"),
        _NORM,
        _gemm(0.24, "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", 2112),
        _SILU,
        _gemm(0.18, "nvjet_tst_256x128_64x4_1x2_h_bz_coopB_TNN", 2112),
        _SOFTMAX,
        _TOP_P,
    ),
    Stage.DECODE: (
        _NORM,
        _gemm(0.20, "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 264),
        _SPLIT_KV,
        _COMBINE,
        _gemm(0.22, "nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 264),
        _SILU,
        _gemm(0.16, "nvjet_tst_64x16_64x13_4x1_v_bz_splitK_TNT", 264),
    ),
    Stage.ALL_GATHER: (_nccl("ncclDevKernel_AllGather_RING_LL"),),
    Stage.REDUCE_SCATTER: (_nccl("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"),),
    Stage.ALL_REDUCE: (_nccl("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),),
    Stage.BROADCAST: (_nccl("ncclDevKernel_Broadcast_RING_LL"),),
}

# What runs beside them on streams of its own.
SIDE_KERNELS: dict[Stage, tuple[Kernel, ...]] = {
    Stage.FORWARD: (
        Kernel(
            1.0,
            "void at::native::<unnamed>::CatArrayBatchedCopy_aligned16_contig<at::native::<unnamed>"
            "::OpaqueType<(unsigned int)2>, unsigned int, (int)1, (int)128, (int)1>(T1 *, "
            "at::native::<unnamed>::CatArrInputTensorMetadata<T1, T2, T4, T5>, at::native::<unnamed"
            ">::TensorSizeStride<T2, (unsigned int)4>, int, T2)",
            "CatArrayBatchedCopy_aligned16_contig",
            28,
            128,
            8_192,
        ),
    ),
    Stage.BACKWARD: (
        Kernel(
            1.0,
            "void at::native::<unnamed>::chunk_cat_cuda_kernel<float, c10::BFloat16>(T1 **, T2 *, "
            "long *, long *, long *, long, long, long, long)",
            "chunk_cat_cuda_kernel",
            32,
            256,
            4_096,
        ),
    ),
    Stage.DECODE: (_SOFTMAX, _TOP_P),
}
