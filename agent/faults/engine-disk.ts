import { AppError, because, type Because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { shortageAt } from '../limits/free-space.ts'
import { hasCause } from '../has-cause.ts'
import { createProvenFault, type ProvenFault } from './proven-fault.ts'

/** Images and layers of an engine with containerd's image store; elsewhere everything is below the directory that the engine names. */
const CONTAINERD = ['/var/lib/containerd']

export interface EngineDiskDeps {
  readonly engine: { readonly calls: Pick<EngineClient['calls'], 'info'> }
  /** Less free space than this is a full disk. */
  readonly floorBytes: number
  /** Directories of the engine besides the one that it names; those that do not exist count for nothing. */
  readonly directories?: readonly string[]
  readonly onChange: () => void
}

/** The disk of the engine, where it is full. A registry or a command of a session can print the engine's words about a full disk too. */
export function createEngineDisk({
  engine,
  floorBytes,
  directories = CONTAINERD,
  onChange,
}: EngineDiskDeps): ProvenFault {
  /** @throws while the engine does not answer: that says nothing about its disk */
  async function find(): Promise<Because | null> {
    const { DockerRootDir } = (await engine.calls.info()) as { DockerRootDir?: string }
    for (const path of [DockerRootDir ?? '', ...directories]) {
      // An engine elsewhere has no such directory here.
      if (path !== '' && (await shortageAt(path, floorBytes))) return because('agent_engine_disk_full', { path })
    }
    return null
  }

  return createProvenFault({
    isSuspect: hasCause('docker_disk_full'),
    find,
    inWordsForOwners: cause => new AppError('disk_full', because('host_disk_short'), { cause }),
    onChange,
  })
}
