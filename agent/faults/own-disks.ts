import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, because, type Because } from '#manager/contract'
import { shortageAt } from '../limits/free-space.ts'
import { hasCause } from '../has-cause.ts'
import { createProvenFault, type ProvenFault } from './proven-fault.ts'

/**
 * Upper bound of the agent's files of one session besides its home. With less free space a start may fail although the few
 * bytes of the test fit, because the files of the failed start are gone again.
 */
const CONTROL_BYTES = 16 * 2 ** 20
/** A fixed name: a file that a killed agent has left is written over. */
const TEST_FILE = '.write-test'
/** More than file systems keep in an inode. */
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
 * The disks on which the agent keeps homes and files of sessions, where they take no new file. A session whose own home is full meets
 * the same errors, so the agent looks at its own directories, which no quota of a home counts: at their free space, and by writing a
 * file. The file finds what free space does not show, such as a quota of the agent, and btrfs without room for metadata.
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
    // A program that makes homes says it in words only, as the engine does.
    isSuspect: hasCause('disk_of_path_full', 'disk_of_path_quota', 'docker_disk_full'),
    find,
    inWordsForOwners: cause => new AppError('disk_full', because('host_disk_short'), { cause }),
    onChange,
  })
}

/** The refusal of a file there, in words for admins. @throws whatever else keeps the agent from writing */
async function refusalAt(directory: string): Promise<Because | undefined> {
  const path = join(directory, TEST_FILE)
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
  try {
    const file = await open(path, O_CREAT | O_NOFOLLOW | O_TRUNC | O_WRONLY, 0o600)
    try {
      await file.writeFile(Buffer.alloc(TEST_BYTES, 1))
      // File systems that allocate late refuse only now.
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
