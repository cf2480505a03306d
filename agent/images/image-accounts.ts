import { within } from '#base/within'
import { type EngineClient, engineMessage } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { type ImageAccount, type ImageGroup, readAccountLines, readGroupLines } from './account-lines.ts'
import { readImageFile, UnreadableFile, withImageFiles } from './image-files.ts'
import { type HeldImage } from './pull.ts'

export interface ImageAccounts {
  readonly accounts: readonly ImageAccount[]
  readonly groups: readonly ImageGroup[]
  /**
   * Settings of its SSH client, which those of a session with several kernels precede; empty if it has none. Null if something else than a
   * file is there: then a session has no settings either, because a file cannot be mounted over a directory.
   */
  readonly sshConfig: string | null
}

/** Accounts of images, each image read once: an image never changes under its id. */
export interface AccountsOfImages {
  /**
   * Accounts and groups in `/etc/passwd` and `/etc/group` of the image, and its `/etc/ssh/ssh_config`. Never fails: without them, a session has its own accounts
   * alone, and the log says why.
   */
  of(image: Pick<HeldImage, 'id' | 'volumes'>): Promise<ImageAccounts>
}

export const NO_ACCOUNTS: ImageAccounts = { accounts: [], groups: [], sshConfig: '' }

const MOST_FILE_BYTES = 256 * 2 ** 10
const KEPT_IMAGES = 100
/** Longest time that a start waits. The reading itself continues, for the next start. */
const WAIT_MS = 5_000

/**
 * Threat model: anybody may have made the image, and nothing of it runs here. A file may have at most 256 KiB and be reached over at most 8
 * links, which the engine resolves inside of the image; the length and number of lines are bounded, and only names of ordinary accounts are
 * accepted.
 *
 * @param reader beginning of the name of containers in which files are looked at, different for each agent
 */
export function createAccountsOfImages(
  engine: EngineClient,
  { reader, log }: { reader: string; log: Log },
): AccountsOfImages {
  const byImage = new Map<string, Promise<ImageAccounts>>()

  async function read(image: Pick<HeldImage, 'id' | 'volumes'>): Promise<ImageAccounts> {
    const [passwd, group, sshConfig] = await withImageFiles(engine, { ...image, reader }, async container => {
      const text = async (path: string) =>
        (await readImageFile(container, path, MOST_FILE_BYTES))?.toString('utf8') ?? ''
      const settings = await text('/etc/ssh/ssh_config').catch((error: unknown) => {
        // Without these settings, the image keeps its accounts.
        if (error instanceof UnreadableFile) return error.isFile ? '' : null
        throw error
      })
      return [await text('/etc/passwd'), await text('/etc/group'), settings] as const
    })
    const [accounts, groups] = [readAccountLines(passwd), readGroupLines(group)]
    const leftOut = { accounts: accounts.leftOut, groups: groups.leftOut }
    if (accounts.leftOut + groups.leftOut > 0)
      log.info({ image: image.id, leftOut }, 'lines of accounts of an image were left out')
    return { accounts: accounts.found, groups: groups.found, sshConfig }
  }

  function reading(image: Pick<HeldImage, 'id' | 'volumes'>): Promise<ImageAccounts> {
    const known = byImage.get(image.id)
    if (known) return known
    const made = read(image).catch((error: unknown) => {
      // The engine may answer next time, but a file of an image never changes.
      if (!(error instanceof UnreadableFile)) byImage.delete(image.id)
      log.warn(
        { image: image.id, why: engineMessage(error) },
        'accounts of an image cannot be read; its sessions have only their own',
      )
      return NO_ACCOUNTS
    })
    byImage.set(image.id, made)
    const oldest = byImage.keys().next().value
    if (byImage.size > KEPT_IMAGES && oldest !== undefined) byImage.delete(oldest)
    return made
  }

  return {
    of: image =>
      within(WAIT_MS, reading(image), () => new Error('late')).catch(() => {
        log.warn({ image: image.id }, 'accounts of an image were not read in time; a session starts with only its own')
        return NO_ACCOUNTS
      }),
  }
}
