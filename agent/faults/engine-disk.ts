import { AppError, because, type Because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { shortageAt } from '../limits/free-space.ts'
import { hasCause } from '../has-cause.ts'
import { createProvenFault, type ProvenFault } from './proven-fault.ts'

/** Images and layers of an engine with containerd's image store; other engines keep everything below the directory that they name. */
const CONTAINERD = ['/var/lib/containerd']

export interface EngineDiskDeps {
  readonly engine: { readonly calls: Pick<EngineClient['calls'], 'info'> }
  /** With less free space than this, the disk counts as full. */
  readonly floorBytes: number
  /** Directories of the engine besides the one that it names; missing ones are ignored. */
  readonly directories?: readonly string[]
  readonly onChange: () => void
}

/**
 * Detects that the engine's disk is full. It checks the disk itself, because a registry or a command of a session can print the engine's
 * words about a full disk too.
 */
export function createEngineDisk({
  engine,
  floorBytes,
  directories = CONTAINERD,
  onChange,
}: EngineDiskDeps): ProvenFault {
  /** @throws while the engine does not answer: then nothing is known about its disk */
  async function find(): Promise<Because | null> {
    const { DockerRootDir } = (await engine.calls.info()) as { DockerRootDir?: string }
    for (const path of [DockerRootDir ?? '', ...directories]) {
      // An engine on another machine has no such directory here.
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
