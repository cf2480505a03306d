const MiB = 2 ** 20
/** Shares of a whole GPU, in hundredths. */
const WHOLE = 100

/** A part of a GPU that a session holds. */
export interface GpuShare {
  readonly uuid: string
  /** Hundredths of the GPU: 25 for a share of 0.25. */
  readonly hundredths: number
  /** Memory of the whole GPU; 0 if the driver does not tell. */
  readonly memBytes: number
}

/** Settings by which a framework takes less memory than the whole GPU. */
interface Framework {
  /** @param share part of the GPU, above 0 and below 1 */
  readonly settings: (share: number) => Readonly<Record<string, string>>
  /** Variables with which users decide this themselves: if one is set, even to nothing, Berth sets none of the settings. */
  readonly decidedBy: readonly string[]
}

/**
 * Frameworks that read a variable by themselves. Each setting counts for one process, and none is a limit. Tried on an H100: PyTorch 2.11, CuPy
 * 14.2 and JAX 0.11 refused more than their part.
 */
const FRAMEWORKS: readonly Framework[] = [
  {
    // PyTorch 2.10 and newer. Older versions end with an error if the option is in PYTORCH_CUDA_ALLOC_CONF, and do not read this name.
    settings: share => ({ PYTORCH_ALLOC_CONF: `per_process_memory_fraction:${share}` }),
    decidedBy: ['PYTORCH_ALLOC_CONF', 'PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_HIP_ALLOC_CONF'],
  },
  {
    settings: share => ({ CUPY_GPU_MEMORY_LIMIT: `${Number((share * 100).toFixed(2))}%` }),
    decidedBy: ['CUPY_GPU_MEMORY_LIMIT'],
  },
  {
    // JAX takes this part at once, and the driver some memory for each process besides: so a tenth is left. The old name is the one
    // that all versions read; JAX fails where both names are set, so that this must not stand beside a user's new one.
    settings: share => ({ XLA_PYTHON_CLIENT_MEM_FRACTION: String(Number((share * 0.9).toFixed(4))) }),
    decidedBy: [
      'XLA_PYTHON_CLIENT_MEM_FRACTION',
      'XLA_CLIENT_MEM_FRACTION',
      'XLA_PYTHON_CLIENT_PREALLOCATE',
      'XLA_PYTHON_CLIENT_ALLOCATOR',
    ],
  },
  {
    // TensorFlow has no variable for an amount. With this one it takes what it needs instead of nearly everything at its start.
    settings: () => ({ TF_FORCE_GPU_ALLOW_GROWTH: 'true' }),
    decidedBy: ['TF_FORCE_GPU_ALLOW_GROWTH'],
  },
]

/**
 * Variables that tell a session about its parts of GPUs. With several GPUs each has its value, `GPU-5f1c…=0.25,GPU-b2a3…=1`, and
 * frameworks, which have one setting for all, are told the smallest. Pure.
 *
 * @param isSet whether the user or the image sets a variable
 */
export function shareEnvironment(
  shares: readonly GpuShare[],
  isSet: (name: string) => boolean,
): Readonly<Record<string, string>> {
  if (shares.length === 0) return {}
  const smallest = Math.min(...shares.map(share => share.hundredths)) / WHOLE
  const settings = smallest < 1 ? FRAMEWORKS.filter(({ decidedBy }) => !decidedBy.some(isSet)) : []
  return {
    BERTH_GPU_SHARE: byGpu(shares, ({ hundredths }) => String(hundredths / WHOLE)),
    ...(shares.every(({ memBytes }) => memBytes > 0) ? { BERTH_GPU_MEMORY_MIB: byGpu(shares, memoryOf) } : {}),
    ...Object.fromEntries(settings.flatMap(one => Object.entries(one.settings(smallest)))),
  }
}

const memoryOf = ({ memBytes, hundredths }: GpuShare) => String(Math.floor((memBytes * hundredths) / WHOLE / MiB))

/** The value alone for a single GPU. */
function byGpu(shares: readonly GpuShare[], valueOf: (share: GpuShare) => string): string {
  const [first, ...others] = shares
  if (first && others.length === 0) return valueOf(first)
  return shares.map(share => `${share.uuid}=${valueOf(share)}`).join(',')
}
