import { randomUUID } from 'node:crypto'
import { chmod, mkdir, open, readdir, readlink, realpath, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readIfThere, writeFileAtomically } from '../files.ts'
import { aliasesAt, endOfAlias } from './aliases.ts'
import { computerId } from './computer-id.ts'
import { defaultServerIn } from './default-server.ts'
import { inheritedBy } from './inherited.ts'
import { quoteForSshConfig } from './quoting.ts'
import {
  type Block,
  blockOf,
  formatConfig,
  type HostEntry,
  hostKeyAlias,
  type Owner,
  parseBlocks,
  withInclude,
  withoutSendEnv,
} from './ssh-config.ts'

/**
 * The files of the SSH kit in a user's `.ssh`:
 *
 *     ~/.ssh/config                        the user's; we add one Include line at the top and touch nothing else
 *     ~/.ssh/berth/config                  ours: one Host block per open session and process that keeps it
 *     ~/.ssh/berth/known_hosts             the pinned host keys of these sessions
 *     ~/.ssh/berth/default-server          the server whose sessions have short aliases
 *     ~/.ssh/berth/id_container-<alias>    the session's private key, 0600, and beside it the same as .ppk
 *
 * Threat model: private keys at rest, each good for one session. The directory is 0700, files 0600, written beside and
 * renamed, so that nobody sees half a config. Several proxies (desktop, console, CLI) of one user share the directory: a
 * lock file serialises them, a block names the process that keeps its tunnel, blocks of dead processes go away, and keys with
 * the last block of their session. Session names come from users: they reach ssh_config only as an alias of harmless characters.
 */
export interface KitFiles {
  /** Aliases to use for a session: the wanted ones, or others if a different live session has one of them. */
  install(entry: KitEntry, kit: KitContent): Promise<Installed>
  /**
   * Removes the block of a session whose tunnel this process kept, and the pinned key and private key unless another block
   * needs them.
   */
  remove(sessionId: string): Promise<void>
  /** Removes files left by dead processes. */
  removeStale(): Promise<void>
}

export type KitEntry = Pick<HostEntry, 'sessionId' | 'port' | 'user' | 'hostKey' | 'ciphers'>

export interface KitContent {
  readonly wantedAlias: string
  /** Label of the server (`labelOfServer`). */
  readonly server: string
  readonly privateKey: string
  readonly ppk: string | undefined
  /** Whether to put the Include line into the user's own configuration. */
  readonly include: boolean
}

export interface Installed {
  readonly alias: string
  readonly identityFile: string
  readonly knownHostsFile: string
  readonly configFile: string
  /** Whether the user's own configuration includes ours. */
  readonly included: boolean
  /** Forwards that the user sets for all hosts, and that therefore apply to this alias too. */
  readonly forwards: readonly string[]
}

/** OpenSSH finds the home directory in the user database, not in $HOME; for a user id in that database, so do we. */
export const defaultSshDirectory = () => join(homeOfUser(), '.ssh')

function homeOfUser(): string {
  try {
    return userInfo().homedir
  } catch {
    // OpenSSH does not run for a user id without an entry. Tunnels do, and their keys need some directory of this user.
    return process.env['HOME'] ?? '/'
  }
}

const RUN = randomUUID().slice(0, 8)

export const thisProcess = async (): Promise<Owner> => ({ host: await computerId(), pid: process.pid, run: RUN })

export function createKitFiles(sshDirectory: string, owner: Owner): KitFiles {
  const directory = join(sshDirectory, 'berth')
  const configFile = join(directory, 'config')
  const knownHostsFile = join(directory, 'known_hosts')
  const isOurs = (block: Block) => block.owner.pid === owner.pid && block.owner.run === owner.run
  /** A home directory may be shared by several computers: liveness can be checked only for processes of this one. */
  const isLive = (block: Block) =>
    isOurs(block) || block.owner.host !== owner.host || (block.owner.pid !== owner.pid && isAlive(block.owner.pid))
  const keyFile = (alias: string) => join(directory, `id_container-${alias}`)
  const isBlockOf = (block: Block, sessionId: string) => block.sessionId === sessionId && isOurs(block)
  let latest: Promise<unknown> = Promise.resolve()

  /** Rewrites our files; `change` gets the blocks of living processes. Calls run in their order. */
  function update<T>(change: Change<T>): Promise<T> {
    const updated = latest.then(() => updateUnderLock(change))
    latest = updated.catch(() => undefined)
    return updated
  }

  async function updateUnderLock<T>(change: Change<T>): Promise<T> {
    await makeDirectory(directory)
    await using _ = await lock(join(directory, '.lock'))
    const before = parseBlocks((await readIfThere(configFile)) ?? '')
    const { blocks, result } = await change(before.filter(isLive))
    await writeFileAtomically(configFile, formatConfig(blocks))
    await pinOnly(blocks)
    await removeKeysExcept(blocks)
    return result
  }

  async function pinOnly(blocks: readonly Block[]) {
    const names = new Set(blocks.map(block => hostKeyAlias(block.sessionId)))
    const lines = ((await readIfThere(knownHostsFile)) ?? '').split('\n')
    const kept = lines.filter(line => names.has(line.split(' ', 1)[0] ?? ''))
    await writeFileAtomically(knownHostsFile, kept.map(line => `${line}\n`).join(''))
  }

  async function removeKeysExcept(blocks: readonly Block[]) {
    const kept = new Set(blocks.flatMap(({ alias }) => [`id_container-${alias}`, `id_container-${alias}.ppk`]))
    const stale = (await readdir(directory)).filter(name => name.startsWith('id_container-') && !kept.has(name))
    await Promise.all(stale.map(name => rm(join(directory, name), { force: true })))
  }

  return {
    async install(entry, kit) {
      const alias = await update(async live => {
        const isDefault = (await defaultServerIn(sshDirectory, kit.server)) === kit.server
        const namesOf = (alias: string) => aliasesAt(alias, { label: kit.server, isDefault })
        const taken = new Set(live.flatMap(({ sessionId, names }) => (sessionId === entry.sessionId ? [] : names)))
        const isTaken = namesOf(kit.wantedAlias).some(name => taken.has(name))
        const [chosen, ...otherAliases] = namesOf(
          isTaken ? `${kit.wantedAlias}${endOfAlias(entry.sessionId)}` : kit.wantedAlias,
        )
        const identityFile = keyFile(chosen)
        await writeFileAtomically(identityFile, kit.privateKey)
        if (kit.ppk !== undefined) await writeFileAtomically(`${identityFile}.ppk`, kit.ppk)
        const known = ((await readIfThere(knownHostsFile)) ?? '').split('\n').filter(line => line !== '')
        const name = hostKeyAlias(entry.sessionId)
        const pinned = [...known.filter(line => !line.startsWith(`${name} `)), `${name} ${entry.hostKey.trim()}`]
        await writeFileAtomically(knownHostsFile, pinned.map(line => `${line}\n`).join(''))
        const block = blockOf({ ...entry, alias: chosen, otherAliases, identityFile, knownHostsFile, owner })
        // If several processes keep a tunnel to a session, the latest goes first: OpenSSH uses the first match.
        const others = live.filter(other => !isBlockOf(other, entry.sessionId))
        return { blocks: [block, ...others], result: chosen }
      })
      const included = kit.include && (await include(sshDirectory, configFile))
      const forwards = included ? await forwardsOf(alias, sshDirectory) : []
      return { alias, identityFile: keyFile(alias), knownHostsFile, configFile, included, forwards }
    },
    remove: sessionId =>
      update(live =>
        Promise.resolve({ blocks: live.filter(block => !isBlockOf(block, sessionId)), result: undefined }),
      ),
    async removeStale() {
      if ((await readIfThere(configFile)) === undefined) return
      await update(live => Promise.resolve({ blocks: live, result: undefined }))
    },
  }
}

type Change<T> = (blocks: readonly Block[]) => Promise<{ blocks: readonly Block[]; result: T }>

const isDefault = (sshDirectory: string) => resolve(sshDirectory) === resolve(defaultSshDirectory())

/** @returns false if the user's configuration cannot be written, e.g. because a tool keeps it read-only */
function include(sshDirectory: string, configFile: string): Promise<boolean> {
  const line = `Include ${isDefault(sshDirectory) ? '~/.ssh/berth/config' : quoteForSshConfig(configFile)}`
  return changeConfig(sshDirectory, before => withInclude(before, Buffer.from(line).toString('latin1')))
}

/** The forwards that the alias inherits. Inherited variables are removed. */
async function forwardsOf(alias: string, sshDirectory: string): Promise<readonly string[]> {
  const file = isDefault(sshDirectory) ? undefined : join(sshDirectory, 'config')
  const { forwards, sendsEnvironment } = await inheritedBy(alias, file)
  if (sendsEnvironment) await changeConfig(sshDirectory, withoutSendEnv)
  return forwards
}

/** @param change gets and returns the text of the user's configuration, byte by byte */
async function changeConfig(sshDirectory: string, change: (config: string) => string): Promise<boolean> {
  try {
    const target = await targetOf(join(sshDirectory, 'config'))
    const before = await readIfThere(target, 'latin1')
    const after = change(before ?? '')
    if (after === before) return true
    const mode = before === undefined ? 0o600 : (await stat(target)).mode & 0o777
    // A rename would replace even a file that its owner made read-only.
    if ((mode & 0o200) === 0) return false
    await writeFileAtomically(target, after, mode, 'latin1')
    return true
  } catch (error) {
    // Any error of the operating system is harmless: the commands then name our file.
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}

/**
 * The file to write: many users link their configuration from a repository. @throws if the link leads to a missing folder, e.g. on a volume
 * that is not mounted
 */
async function targetOf(path: string): Promise<string> {
  const link = await readlink(path).catch(() => undefined)
  if (link === undefined) return path
  const target = resolve(dirname(path), link)
  return await realpath(target).catch(async () => join(await realpath(dirname(target)), basename(target)))
}

async function makeDirectory(directory: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
}

const LOCK_STALE_MS = 10_000

/** Exclusive by creation; a lock older than ten seconds was left by a crash and is taken over. */
async function lock(path: string): Promise<AsyncDisposable> {
  for (;;) {
    try {
      const handle = await open(path, 'wx', 0o600)
      await handle.close()
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      const age = await stat(path).then(
        found => Date.now() - found.mtimeMs,
        () => 0,
      )
      if (age > LOCK_STALE_MS) await rm(path, { force: true })
      else await delay(20)
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
