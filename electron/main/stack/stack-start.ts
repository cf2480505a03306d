import { AppError, toWireError } from '#manager/contract'
import { type DockerCheck, STACK_STEPS, type StackStart, type StackStep, type ToldReason } from '#proxy/contract'
import { type EmbeddedStack, type StackReport } from './embedded-stack.ts'

const LOG_LINES = 200
const IDLE: StackStart = {
  state: 'idle',
  steps: { docker: 'waiting', manager: 'waiting', console: 'waiting', agent: 'waiting' },
  log: [],
  error: null,
  agentMissing: null,
  docker: null,
  partlyIsolated: null,
}

export interface StackStarterDeps {
  readonly checkDocker: () => Promise<DockerCheck>
  readonly start: (report: StackReport) => Promise<EmbeddedStack>
  readonly onChange: (now: StackStart) => void
  /** @param why sessions can reach this computer and its network; null if they cannot */
  readonly onIsolation: (why: ToldReason | null) => void
}

export interface StackStarter {
  readonly now: StackStart
  /** @throws the failure, which is also in `now` */
  start(): Promise<EmbeddedStack>
}

/** Starts Berth on this computer, and keeps the state of the start for pages that are opened meanwhile. */
export function createStackStarter({ checkDocker, start, onChange, onIsolation }: StackStarterDeps): StackStarter {
  let now = IDLE
  const change = (part: Partial<StackStart>) => {
    now = { ...now, ...part }
    onChange(now)
  }
  const step = (name: StackStep, state: StackStart['steps'][StackStep]) =>
    change({ steps: { ...now.steps, [name]: state } })
  const report: StackReport = {
    onStep(name, state, reason) {
      step(name, state)
      if (reason) change({ agentMissing: toWireError(reason) })
    },
    onIsolation(partlyIsolated) {
      change({ partlyIsolated })
      onIsolation(partlyIsolated)
    },
    onLog: line => change({ log: [...now.log, line].slice(-LOG_LINES) }),
  }

  const begin = async (): Promise<EmbeddedStack> => {
    step('docker', 'running')
    const docker = await checkDocker()
    change({ docker })
    if (docker.state !== 'ready')
      throw new AppError('engine_unreachable', { why: 'Sessions need a Docker Engine on this computer.' })
    step('docker', 'done')
    return start(report)
  }

  return {
    get now() {
      return now
    },
    async start() {
      change({ ...IDLE, state: 'starting' })
      try {
        const stack = await begin()
        const done = Object.fromEntries(
          STACK_STEPS.map(name => [name, now.steps[name] === 'absent' ? 'absent' : 'done']),
        ) as Record<StackStep, 'absent' | 'done'>
        change({ state: 'ready', steps: done })
        return stack
      } catch (error) {
        const failed = STACK_STEPS.find(name => now.steps[name] === 'running') ?? 'manager'
        change({ state: 'failed', error: toWireError(error), steps: { ...now.steps, [failed]: 'failed' } })
        throw error
      }
    },
  }
}
