import { lstat, readdir, readFile } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'
import { within } from '#base/within'

/** Traces of people on a computer. */
export interface Traces {
  readonly platform: NodeJS.Platform
  readonly own: { readonly uid: number; readonly home: string }
  /** Directories beside the home of this process' user, and in the usual folder of homes. Windows has no ids of owners: 0. */
  readonly homes: readonly { readonly path: string; readonly owner: number }[]
  /** Text of /etc/passwd; empty if accounts are kept elsewhere. */
  readonly accounts: string
  /** Names in /run/user: ids of users who are signed in. */
  readonly signedIn: readonly string[]
}

/** First user id of people on Linux; lower ones belong to services. */
const FIRST_PERSON = 1000
const NOBODY = 65_534
const NO_LOGIN = /\/(nologin|false|true|sync|shutdown|halt)$/
/** Names of directories among homes that belong to nobody in particular. */
const NOBODYS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['lost+found', 'linuxbrew'],
  darwin: ['Shared', 'Guest'],
  win32: ['Public', 'Default', 'Default User', 'All Users', 'defaultuser0', 'WDAGUtilityAccount'],
}

/**
 * Whether others than the person of this process evidently use the computer: they have a home, an account to sign in with, or are signed in.
 * Services that run programs of strangers as a user of their own are not seen.
 */
export function hasOtherPeople({ platform, own, homes, accounts, signedIn }: Traces): boolean {
  const paths = platform === 'win32' ? path.win32 : path.posix
  const nobodys = NOBODYS[platform] ?? []
  const isOthers = ({ path: home, owner }: Traces['homes'][number]) => {
    const name = paths.basename(home)
    if (home === own.home || name.startsWith('.') || nobodys.includes(name)) return false
    // A second directory of the same person does not count. Root owns homes that are not mounted yet, and on Windows all homes count as
    // root's.
    return owner === 0 || owner !== own.uid
  }
  if (homes.some(isOthers)) return true
  if (platform !== 'linux') return false
  const isPerson = (uid: number) => uid >= FIRST_PERSON && uid !== NOBODY && uid !== own.uid
  const canSignIn = accounts.split('\n').some(line => {
    const [, , uid, , , , shell = ''] = line.split(':')
    return uid !== undefined && isPerson(Number(uid)) && !NO_LOGIN.test(shell)
  })
  return canSignIn || signedIn.some(name => isPerson(Number(name)))
}

const LONGEST_LOOK_MS = 1_000

/**
 * Finds out whether other people use the computer. If that cannot be read in time, the answer is yes: a wrong yes only costs bookmarks, a
 * wrong no could expose what a person does in the browser.
 *
 * Threat model: the home of another user may be mounted from a server that hangs, and a look at it holds one of the few threads that Node
 * has for files. So there is one look at a time, which checks one home after the other; concurrent callers share it.
 */
export function createPeopleWatch(check: () => Promise<Traces> = readTraces): () => Promise<boolean> {
  let checking: { readonly found: Promise<boolean>; readonly isLate: () => boolean } | undefined
  return async () => {
    const { found, isLate } = (checking ??= begin())
    if (isLate()) return true
    return await within(LONGEST_LOOK_MS, found, () => new Error('late')).catch(() => true)
  }
  function begin() {
    const since = performance.now()
    const found = check().then(hasOtherPeople)
    const end = () => (checking = undefined)
    found.then(end, end)
    return { found, isLate: () => performance.now() - since > LONGEST_LOOK_MS }
  }
}

/** All tunnels of this process share this watch, whichever user they belong to. */
export const isSharedComputer = createPeopleWatch()

async function readTraces(): Promise<Traces> {
  const { platform, env } = process
  const own = { uid: userInfo().uid, home: homedir() }
  const usual =
    platform === 'win32' ? `${env['SystemDrive'] ?? 'C:'}\\Users` : platform === 'darwin' ? '/Users' : '/home'
  const beside = path.dirname(own.home)
  // The home of root is not in the usual folder, but beside system directories.
  const parents = new Set([usual, ...(beside === path.parse(beside).root ? [] : [beside])])
  const isLinux = platform === 'linux'
  const quick: Traces = {
    platform,
    own,
    homes: [],
    accounts: isLinux ? await orNothing(readFile('/etc/passwd', 'utf8'), '') : '',
    signedIn: isLinux ? await orNothing(readdir('/run/user'), []) : [],
  }
  // On a server with thousands of homes, the accounts already show other people.
  if (hasOtherPeople(quick)) return quick
  const homes: Traces['homes'][number][] = []
  for (const parent of parents) homes.push(...(await homesIn(parent)))
  return { ...quick, homes }
}

/** Links are not followed: they may lead to homes that would then be mounted. */
async function homesIn(parent: string): Promise<Traces['homes']> {
  const homes: Traces['homes'][number][] = []
  for (const name of await orNothing(readdir(parent), [])) {
    const home = path.join(parent, name)
    const entry = await lstat(home)
    if (entry.isDirectory() || entry.isSymbolicLink()) homes.push({ path: home, owner: Math.max(entry.uid, 0) })
  }
  return homes
}

/** @throws every error except that the path does not exist */
async function orNothing<T>(read: Promise<T>, nothing: T): Promise<T> {
  return await read.catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return nothing
    throw error
  })
}
