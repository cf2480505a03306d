import { BUILT_IN_APPS, type KernelApp, type KernelLabel, type KernelSpec } from '#agent/contract'
import { type AgentId, AppError, because, type ManagerId } from '#manager/contract'
import { type FoundContainer } from './containers.ts'

/**
 * Decides which containers stay: one per kernel, from the latest attempt. A container that was created and never started belongs to an
 * interrupted creation; the manager repeats its request if it still wants the kernel.
 */
export function sortContainers(containers: readonly FoundContainer[]): { keep: boolean; container: FoundContainer }[] {
  const latest = new Map<string, number>()
  for (const { label, state } of containers) {
    if (state.state === 'created') continue
    latest.set(label.kernelId, Math.max(latest.get(label.kernelId) ?? 0, label.attempt))
  }
  return containers.map(container => ({
    keep: container.state.state !== 'created' && container.label.attempt === latest.get(container.label.kernelId),
    container,
  }))
}

/**
 * The label of a kernel in creation; its apps are known once its image is present. Keys and the seed of keys, dotfiles and scripts stay
 * out of it: labels are for everybody who may ask the engine.
 */
export function labelOf(spec: KernelSpec, managerId: ManagerId, agentId: AgentId): KernelLabel {
  const { authorizedKeys: _, clusterSeed: _seed, dotfiles: _dotfiles, bootstrapScript: _script, ...rest } = spec
  return { v: 1, managerId, agentId, ...rest, apps: [], createdAt: new Date().toISOString() }
}

export function withBuiltIn(apps: readonly KernelApp[]): KernelApp[] {
  const builtIn = new Set(BUILT_IN_APPS.map(app => app.name))
  return [...BUILT_IN_APPS, ...apps.filter(app => !builtIn.has(app.name))]
}

export function late(startWithinMs: number): AppError {
  return new AppError(
    'kernel_create_failed',
    because('container_start_late', { seconds: Math.round(startWithinMs / 1000) }),
  )
}
