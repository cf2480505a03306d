import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A line of passwd(5). */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Empty means /bin/sh. */
  readonly shell: string
}

/** The user accounts of this host, including those of a directory service. */
export interface HostAccounts {
  find(nameOrUid: string | number): Promise<Account | undefined>
  /** Creates a system account without home, password and login shell. @returns false if this host cannot */
  createSystemAccount(name: string): Promise<boolean>
  /** Uids that the host hands to user namespaces. @see subuid(5) */
  subordinateRanges(): Promise<readonly UidRange[]>
}

export interface UidRange {
  readonly first: number
  readonly count: number
}

export function hostAccounts(): HostAccounts {
  return {
    find,
    createSystemAccount: name =>
      run('useradd', [...SYSTEM_ACCOUNT, name]).then(
        () => true,
        // useradd is not installed, or another agent was faster: the caller looks the account up.
        () => false,
      ),
    subordinateRanges: async () => parseSubordinateRanges(await readFile('/etc/subuid', 'utf8').catch(() => '')),
  }
}

const SYSTEM_ACCOUNT = [
  ...['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'],
  ...['--shell', '/usr/sbin/nologin', '--comment', 'Berth sessions'],
]

async function find(nameOrUid: string | number): Promise<Account | undefined> {
  const key = String(nameOrUid)
  // getent also asks directory services; hosts with only busybox have just the file.
  const text = await run('getent', ['passwd', key]).then(
    ({ stdout }) => stdout,
    () => readFile('/etc/passwd', 'utf8').catch(() => ''),
  )
  return parseAccounts(text).find(({ name, uid }) => (typeof nameOrUid === 'number' ? uid : name) === nameOrUid)
}

export function parseAccounts(passwd: string): Account[] {
  return passwd.split('\n').flatMap(line => {
    const [name, , uid, gid, , , shell] = line.split(':')
    return name !== undefined && shell !== undefined && /^\d+$/.test(uid ?? '') && /^\d+$/.test(gid ?? '')
      ? [{ name, uid: Number(uid), gid: Number(gid), shell: shell.trim() }]
      : []
  })
}

export function parseSubordinateRanges(subuid: string): UidRange[] {
  return subuid.split('\n').flatMap(line => {
    const [, first, count] = /^[^:]+:(\d+):(\d+)\s*$/.exec(line) ?? []
    return first === undefined ? [] : [{ first: Number(first), count: Number(count) }]
  })
}

/** Whether a login as this account is possible. A locked password proves nothing: an SSH key needs none. */
export function canLogIn({ shell }: Account): boolean {
  return !/\/(nologin|false|true|sync)$/.test(shell)
}
