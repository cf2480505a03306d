import { AppError, because, type Because, isAppError } from '#manager/contract'
import { shortageAt } from './free-space.ts'
import { type EngineClient } from '../docker/engine-client.ts'

/** Images and layers of an engine with containerd's image store; elsewhere everything is below the directory that the engine names. */
const CONTAINERD = ['/var/lib/containerd']

/**
 * The disk of the engine, where it is full: no session can start then. It is looked at after a start that failed for it, because the
 * words of the engine alone prove nothing: a registry, a command or a full home of a session can bring them about.
 */
export interface EngineDisk {
  /** In words for admins; null unless it was found full. */
  readonly problem: Because | null
  /** The error of a start, in words for owners where the full disk is its cause. */
  told(error: unknown): Promise<unknown>
  /** Looks whether a disk that was full has room again. */
  look(): Promise<void>
}

export interface EngineDiskDeps {
  readonly engine: { readonly calls: Pick<EngineClient['calls'], 'info'> }
  /** Less free space than this is a full disk. */
  readonly floorBytes: number
  /** Directories of the engine besides the one that it names; those that do not exist count for nothing. */
  readonly directories?: readonly string[]
  readonly onChange: () => void
}

export function createEngineDisk({
  engine,
  floorBytes,
  directories = CONTAINERD,
  onChange,
}: EngineDiskDeps): EngineDisk {
  let problem: Because | null = null
  let looking: Promise<void> | undefined

  async function findFull(): Promise<Because | null> {
    const { DockerRootDir } = (await engine.calls.info()) as { DockerRootDir?: string }
    for (const path of [DockerRootDir ?? '', ...directories]) {
      // An engine elsewhere has no such directory here.
      if (path !== '' && (await shortageAt(path, floorBytes))) return because('agent_engine_disk_full', { path })
    }
    return null
  }

  async function lookNow(): Promise<void> {
    const before = problem
    // An engine that does not answer says nothing about its disk.
    problem = await findFull().catch(() => before)
    if ((before === null) !== (problem === null)) onChange()
  }

  /** Starts that fail together share one look. */
  const lookOnce = () => (looking ??= lookNow().finally(() => (looking = undefined)))

  return {
    get problem() {
      return problem
    },
    async told(error) {
      if (!isAppError(error) || error.detail['cause'] !== 'docker_disk_full') return error
      await lookOnce()
      return problem === null ? error : new AppError('disk_full', because('host_disk_short'), { cause: error })
    },
    look: () => (problem === null ? Promise.resolve() : lookOnce()),
  }
}
