import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rm } from 'node:fs/promises'
import { type KernelSpec } from '#agent/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { isInTheWay, makeDirectories } from '../storage/mount-points.ts'
import { unlessFull } from '../unless-full.ts'

type Dotfile = NonNullable<KernelSpec['dotfiles']>[number]

export interface PlaceOptions {
  /** Paths of the folders that the session mounts, relative to the home. */
  readonly mounts: readonly string[]
  readonly user: SessionUser
  /** True for a session that continues with the home of an earlier one: existing files stay, without a note. */
  readonly continues: boolean
}

/**
 * Puts the dotfiles of the owner into a home. Existing files stay unchanged, and so does everything in a mounted folder.
 *
 * Threat model: an earlier session may have left anything in the home. Directories are entered by descriptors without following links; a
 * file is made under a random name (O_EXCL), gets mode and owner by its descriptor, and is linked to its place, which fails if the name is
 * taken and follows no link. So nothing outside of the home is made, changed or read, and nobody sees half a file.
 *
 * @returns notes for the log of the session: the dotfiles that were left out, and why
 * @throws `disk_full`
 */
export async function placeDotfiles(
  home: string,
  dotfiles: readonly Dotfile[],
  { mounts, user, continues }: PlaceOptions,
): Promise<string[]> {
  const notes: string[] = []
  for (const dotfile of dotfiles) {
    const { path } = dotfile
    const mount = mounts.find(one => path === one || path.startsWith(`${one}/`))
    if (mount !== undefined) {
      notes.push(`Your dotfile ${path} is not in this session: a folder is mounted at ~/${mount}.`)
      continue
    }
    const outcome = await place(home, dotfile, user)
    if (outcome === 'in_the_way')
      notes.push(`Your dotfile ${path} is not in this session: a file or a link is in the way.`)
    if (outcome === 'taken' && !continues)
      notes.push(`Your dotfile ${path} is not in this session: the home already has something of this name.`)
  }
  return notes
}

async function place(home: string, dotfile: Dotfile, user: SessionUser): Promise<'placed' | 'taken' | 'in_the_way'> {
  const parts = dotfile.path.split('/')
  const name = parts.pop() ?? ''
  let directory: FileHandle
  try {
    directory = await makeDirectories(home, parts, user)
  } catch (error) {
    if (isInTheWay(error)) return 'in_the_way'
    throw unlessFull(error, home)
  }
  const at = (entry: string) => `/proc/self/fd/${directory.fd}/${entry}`
  const beside = at(`.berth-${randomUUID()}`)
  try {
    await write(beside, dotfile, user)
    await link(beside, at(name))
    return 'placed'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return 'taken'
    throw unlessFull(error, home)
  } finally {
    await rm(beside, { force: true })
    await directory.close()
  }
}

async function write(path: string, { content, mode }: Dotfile, { uid, gid }: SessionUser): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    await file.writeFile(content)
    await file.chmod(Number.parseInt(mode, 8)) // whatever the umask of the agent
    if (process.getuid?.() === 0) await file.chown(uid, gid)
  } finally {
    await file.close()
  }
}
