import { type SessionId, type UserId } from '#manager/contract'
import { type Peers } from '../cluster/peers.ts'
import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { listSharedSessions } from '../store/sessions/session-shares.ts'

/**
 * In-memory copy of the shares of sessions, for hints and live statistics, which are sent every second. It is not used for anything else:
 * requests and connections read the database.
 *
 * Threat model: a member who lost a right must not continue with cached data or open connections. So a change first drops the copy for the
 * user, here and at the other managers, and tells the listeners, which drop their own copies and cut connections; the rights that are left
 * are read again afterwards. A manager that may have missed a message does so for all users.
 */
export interface SessionMembers extends AsyncDisposable {
  /** Users with whom the session is shared; none while that is not known. */
  of(id: string): readonly UserId[]
  /**
   * Call it after the commit of a change of the sessions that others share with this user. @returns the sessions that the user saw before
   */
  changed(userId: UserId): readonly SessionId[]
  /** The listener is called when a user may have lost a right, or any user (undefined). It must not throw. */
  onChanged(listener: (userId: UserId | undefined) => void): void
}

export interface SessionMembersDeps {
  readonly store: Pick<Store, 'db'>
  readonly peers: Peers
  readonly log: Log
}

const RETRY_MS = 2_000
const NOBODY: readonly UserId[] = []

export async function startSessionMembers({ store, peers, log }: SessionMembersDeps): Promise<SessionMembers> {
  const members = new Map<SessionId, readonly UserId[]>()
  const listeners: ((userId: UserId | undefined) => void)[] = []
  const others = peers.topic<UserId>('session_members')
  /** Users whose rights are to be read; undefined stands for all. */
  const unread = new Set<UserId | undefined>()
  const stopping = new AbortController()
  let isReading = false
  let reading: Promise<void> | undefined

  function drop(userId: UserId | undefined): SessionId[] {
    const sessions = [...members].flatMap(([id, users]) => (userId === undefined || users.includes(userId) ? [id] : []))
    for (const id of sessions) {
      const left = userId === undefined ? [] : (members.get(id) ?? []).filter(one => one !== userId)
      if (left.length > 0) members.set(id, left)
      else members.delete(id)
    }
    return sessions
  }

  async function read(userId: UserId | undefined): Promise<void> {
    const rows = await listSharedSessions(store.db, userId)
    // A change during the query is read again: until then its user sees nothing.
    if (unread.has(userId) || unread.has(undefined)) return
    for (const { session_id: id, user_id } of rows) {
      if (!unread.has(user_id)) members.set(id, [...new Set([...(members.get(id) ?? []), user_id])])
    }
  }

  async function readAll(): Promise<void> {
    isReading = true
    while (unread.size > 0 && !stopping.signal.aborted) {
      const [userId] = unread
      unread.delete(userId)
      await read(userId).catch(async (error: unknown) => {
        log.warn({ err: error }, 'members of shared sessions were not read; pages of theirs may be late')
        unread.add(userId)
        await pause(RETRY_MS, stopping.signal)
      })
    }
    isReading = false
  }

  function change(userId: UserId | undefined): SessionId[] {
    const sessions = drop(userId)
    unread.add(userId)
    if (!isReading) reading = onBehalfOfAll(readAll)
    for (const listener of listeners) listener(userId)
    return sessions
  }

  others.on(userId => void change(userId))
  peers.onGap(() => void change(undefined))
  await read(undefined)

  return {
    of: id => members.get(id as SessionId) ?? NOBODY,
    changed(userId) {
      const sessions = change(userId)
      others.tell(userId)
      return sessions
    },
    onChanged: listener => void listeners.push(listener),
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await reading
    },
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
