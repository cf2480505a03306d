import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, because, type Because } from '#manager/contract'
import { shortageAt } from '../limits/free-space.ts'
import { hasCause } from '../has-cause.ts'
import { createProvenFault, type ProvenFault } from './proven-fault.ts'

/**
 * Upper bound of the agent's files of one session besides its home. With less free space a start may fail although the few bytes of the
 * test fit, because the files of the failed start are already deleted.
 */
const CONTROL_BYTES = 16 * 2 ** 20
/** A fixed name, so that a file left by a killed agent is overwritten. */
const TEST_FILE = '.write-test'
/** Larger than the data that file systems keep inside an inode. */
const TEST_BYTES = 64 * 2 ** 10
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])

export interface OwnDisksDeps {
  /** DATA/agent, absolute. */
  readonly directory: string
  readonly scratchDirectory: string
  /** Least free space below the directory of homes. */
  readonly freeSpaceFloorBytes: number
  readonly onChange: () => void
}

/**
 * Detects that the disks for homes and files of sessions accept no new file. A session whose own home is full causes the same errors, so
 * the agent checks its own directories, to which no quota of a home applies: their free space, and by writing a file. Writing finds
 * problems that free space does not show, such as a quota of the agent, or btrfs without space for metadata.
 */
export function createOwnDisks({
  directory,
  scratchDirectory,
  freeSpaceFloorBytes,
  onChange,
}: OwnDisksDeps): ProvenFault {
  async function find(): Promise<Because | null> {
    return (
      (await shortageAt(scratchDirectory, Math.max(freeSpaceFloorBytes, CONTROL_BYTES))) ??
      (await shortageAt(directory, CONTROL_BYTES)) ??
      (await refusalAt(scratchDirectory)) ??
      (await refusalAt(directory)) ??
      null
    )
  }

  return createProvenFault({
    // An error of a program that creates homes is known only by its text, like an error of the engine.
    isSuspect: hasCause('disk_of_path_full', 'disk_of_path_quota', 'docker_disk_full'),
    find,
    inWordsForOwners: cause => new AppError('disk_full', because('host_disk_short'), { cause }),
    onChange,
  })
}

/** The error when a file is written there, as text for admins. @throws any other reason why the agent cannot write */
async function refusalAt(directory: string): Promise<Because | undefined> {
  const path = join(directory, TEST_FILE)
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
  try {
    const file = await open(path, O_CREAT | O_NOFOLLOW | O_TRUNC | O_WRONLY, 0o600)
    try {
      await file.writeFile(Buffer.alloc(TEST_BYTES, 1))
      // File systems with delayed allocation fail only here.
      await file.sync()
    } finally {
      await file.close()
    }
    return undefined
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && FULL.has(error.code))) throw error
    return because('agent_disk_refuses', { path: directory, code: String(error.code) })
  } finally {
    await rm(path, { force: true })
  }
}
