import { lstat, readdir, readFile } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'

/** Traces of people on a computer. */
export interface Traces {
  readonly platform: NodeJS.Platform
  readonly own: { readonly uid: number; readonly home: string }
  /** Directories beside the home of this process' user, and in the usual place of homes. Windows has no ids of owners: 0. */
  readonly homes: readonly { readonly path: string; readonly owner: number }[]
  /** Text of /etc/passwd; empty where accounts are kept elsewhere. */
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
    // A second directory of one's own is no other person. Root owns homes that are not mounted yet, and all on Windows count as root's.
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

/**
 * Looks whether the computer has other people. What cannot be read counts as other people: they cost bookmarks, a computer that is
 * wrongly taken for one person's costs what that person does in a browser.
 */
export async function isSharedComputer(): Promise<boolean> {
  try {
    return hasOtherPeople(await look())
  } catch {
    return true
  }
}

async function look(): Promise<Traces> {
  const { platform, env } = process
  const own = { uid: userInfo().uid, home: homedir() }
  const usual =
    platform === 'win32' ? `${env['SystemDrive'] ?? 'C:'}\\Users` : platform === 'darwin' ? '/Users' : '/home'
  const beside = path.dirname(own.home)
  // The home of root is beside the directories of the system.
  const parents = new Set([usual, ...(beside === path.parse(beside).root ? [] : [beside])])
  const homes = await Promise.all([...parents].map(homesIn))
  const isLinux = platform === 'linux'
  return {
    platform,
    own,
    homes: homes.flat(),
    accounts: isLinux ? await orNothing(readFile('/etc/passwd', 'utf8'), '') : '',
    signedIn: isLinux ? await orNothing(readdir('/run/user'), []) : [],
  }
}

/** Not followed: links may lead to homes that would be mounted for it. */
async function homesIn(parent: string): Promise<Traces['homes']> {
  const names = await orNothing(readdir(parent), [])
  const found = await Promise.all(
    names.map(async name => {
      const home = path.join(parent, name)
      const entry = await lstat(home)
      return entry.isDirectory() || entry.isSymbolicLink() ? [{ path: home, owner: Math.max(entry.uid, 0) }] : []
    }),
  )
  return found.flat()
}

/** @throws every other error than that there is no such thing */
async function orNothing<T>(read: Promise<T>, nothing: T): Promise<T> {
  return await read.catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return nothing
    throw error
  })
}
