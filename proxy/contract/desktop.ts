import type { WireError } from '#manager/contract'

/** Steps of the start of Berth on this computer, in their order. */
export const STACK_STEPS = ['docker', 'manager', 'console', 'agent'] as const
export type StackStep = (typeof STACK_STEPS)[number]

/** What the desktop app knows of the Docker Engine of this computer. */
export interface DockerCheck {
  /** `unsupported`: sessions run on Linux hosts only; `denied`: the user may not use the engine. */
  readonly state: 'ready' | 'missing' | 'stopped' | 'denied' | 'unsupported'
  /** Line for a terminal that mends it; null if there is none that fits every system of this kind. */
  readonly command: string | null
}

/** The start of Berth on this computer, as the start screen shows it. */
export interface StackStart {
  readonly state: 'idle' | 'starting' | 'ready' | 'failed'
  readonly steps: Readonly<Record<StackStep, 'waiting' | 'running' | 'done' | 'failed'>>
  /** The newest lines of the services, oldest first. */
  readonly log: readonly string[]
  /** With `failed`. */
  readonly error: WireError | null
  readonly docker: DockerCheck | null
}
