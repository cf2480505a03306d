import { type FromAgent, type KernelWarning } from '#agent/contract'
import { type Because, because } from '#manager/contract'
import { type FoundGpu } from '../gpu/gpu-plugin.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { type KernelManager } from '../kernel/kernel-manager.ts'
import { createMemoryKills } from '../kernel/memory-kills.ts'
import { tellTerminals } from '../kernel/tell-terminals.ts'

export interface KernelNewsDeps {
  readonly engine: EngineClient
  /** Undefined until the kernels are created. */
  readonly kernels: () => KernelManager | undefined
  readonly notify: (message: FromAgent) => void
}

/** Tells managers what happened to a running kernel. */
export interface KernelNews {
  /** Tells also everybody at the kernel's terminals. */
  readonly warn: (code: KernelWarning['code'], kernelId: string, why: Because) => void
  /** Warns every kernel that holds the GPU. */
  readonly gpuFailed: (gpu: Pick<FoundGpu, 'uuid' | 'model'>) => void
  /** Call when the system has killed a program of the kernel for its memory. */
  readonly memoryKill: (kernelId: string) => void
}

export function createKernelNews({ engine, kernels, notify }: KernelNewsDeps): KernelNews {
  const isNewKill = createMemoryKills(() => performance.now())
  const reportOf = (kernelId: string) =>
    kernels()
      ?.reports()
      .find(one => one.kernelId === kernelId)

  function warn(code: KernelWarning['code'], kernelId: string, { why: message, ...key }: Because): void {
    const kernel = reportOf(kernelId)
    const running = kernels()?.find(kernelId)
    if (!kernel || !running) return
    notify({ type: 'kernel_changed', kernel, ageMs: 0, warning: { code, message, ...key } })
    // The timeline has the warning in any case.
    void tellTerminals(engine, running, message).catch(() => undefined)
  }

  return {
    warn,
    gpuFailed({ uuid, model }) {
      const holders =
        kernels()
          ?.running()
          .filter(({ devices: held }) => held.includes(uuid)) ?? []
      for (const { kernelId } of holders) warn('gpu_failed', kernelId, because('gpu_of_session_failed', { model }))
    },
    memoryKill(kernelId) {
      const kernel = reportOf(kernelId)
      if (kernel?.state.state !== 'running' || !isNewKill(kernelId)) return
      notify({ type: 'kernel_changed', kernel, ageMs: 0, memoryKill: true })
    },
  }
}
