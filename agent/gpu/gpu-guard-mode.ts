/** Reaction of the agent to a session that uses more memory of a GPU than its share, where the driver has no limit for it. */
export const GPU_GUARD_MODES = ['end', 'warn', 'off'] as const
export type GpuGuardMode = (typeof GPU_GUARD_MODES)[number]
