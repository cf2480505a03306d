import { defined } from '#base/defined'
import {
  AppError,
  because,
  type FairShare,
  isAppError,
  type Notice,
  type Reason,
  readSort,
  reasonOf,
  type LogPart,
  type Session,
  type SessionChange,
  type SessionDetails,
  type SessionEvent,
  type SessionEventSort,
  type SessionId,
  type SessionRestart,
  type SessionSpec,
  type SshAccess,
  type WhatIf,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type LongAnswers } from '../agent-link/long-answers.ts'
import { type MountsPresence, type PlacingPresence } from '../scheduler/snapshot.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { listSessionEvents } from '../store/sessions/session-events.ts'
import { countMatching, listSessions, type SessionFilter } from '../store/sessions/session-list.ts'
import { type SessionSorting } from '../store/sessions/session-order.ts'
import { numberCursor } from '../store/number-cursor.ts'
import { findSessions, findVariables, ownedOf, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { updateLabels } from '../store/sessions/touches.ts'
import { administers, type Caller, canSee, otherLauncher, requireScope } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { type SessionChanges } from './changes.ts'
import { createEnqueue, type EnqueueDeps } from './enqueue.ts'
import { createKernelAccess } from './kernel-access.ts'
import { type Lifecycle } from './lifecycle/lifecycle.ts'
import { networkAgain } from './network-access.ts'
import { filesOf, mountsOf, requireOwnImage, specOf } from './restart.ts'
import { requireEnterable, requireManaged, requireOwn, requireReadable, requireVisible } from './require-session.ts'
import { pageOf, type SessionQuery } from './session-query.ts'
import { createTotals } from './totals.ts'
import { toSessions, type ViewDeps, withVariables } from './views.ts'
import { explainFairShare } from './fair-share.ts'
import { answerWhatIf } from './what-if.ts'

/** Users' operations on sessions, with their rules. For a user who may not see a session, it does not exist. */
export interface SessionService {
  /**
   * Creates all sessions or none.
   * @throws `image_not_found`, `request_too_large`, `session_name_taken`, `dependency_not_found`, `forbidden`
   *   (priority), `bad_request`, `folder_not_found`, and as `admit` and `requireWithinLimits`
   */
  create(caller: Caller, spec: SessionSpec, keyed?: KeyedRequest): Promise<{ items: Session[]; notices: Notice[] }>
  /**
   * Creates the same session again, on its agent, with its files. The new one takes the name unless a live session has
   * it by now.
   * @throws `session_not_found`, `forbidden`, `session_live`, `files_gone`, `session_share_refused`, and as `specOf`, `requireOwnImage` and `create`
   */
  restart(caller: Caller, id: SessionId, changes?: SessionRestart, keyed?: KeyedRequest): Promise<Restarted>
  /** Predicts whether the request would start now, without creating anything. @throws as `create`, except for names */
  whatIf(caller: Caller, spec: SessionSpec): Promise<WhatIf>
  /** @throws AppError `resource_group_not_found`, `bad_request` */
  fairShare(caller: Caller, resourceGroup: string): Promise<FairShare>
  list(caller: Caller, query: SessionQuery): Promise<{ items: Session[]; nextCursor: string | null; total: number }>
  /** @throws AppError `session_not_found` */
  get(caller: Caller, id: SessionId): Promise<Session>
  /** With the values of its variables, for those who may use the session. @throws AppError `session_not_found` */
  details(caller: Caller, id: SessionId): Promise<SessionDetails>
  /** Changes tags and note of the caller's own session, and whether administrators may read its log. @throws AppError `session_not_found`, `forbidden` */
  update(caller: Caller, id: SessionId, change: SessionChange): Promise<Session>
  /**
   * Cancels or terminates; does nothing for a session that is ending or has ended. @throws AppError `session_not_found`, `forbidden`
   * (shared with the caller)
   */
  terminate(caller: Caller, id: SessionId, how?: Ending): Promise<Session>
  /** The timeline. @throws AppError `session_not_found`, `bad_request` for an invalid cursor */
  events(
    caller: Caller,
    id: SessionId,
    query: { limit: number; cursor?: string | undefined; sort: SessionEventSort },
  ): Promise<{ items: SessionEvent[]; nextCursor: string | null }>
  /**
   * Logs of one kernel (by role or id; the main one by default): live from the agent while it runs, afterwards the
   * stored tail.
   * @throws `agent_unreachable`, `kernel_not_found`
   */
  logs(
    caller: Caller,
    id: SessionId,
    query: { tail: number; kernel?: string | undefined; timestamps?: boolean | undefined },
    signal?: AbortSignal,
  ): Promise<{ text: string; truncated: boolean }>
  /** @see KernelAccess.logPart */
  logPart(
    caller: Caller,
    id: SessionId,
    query: { kernel?: string | undefined; part?: number | undefined },
    signal?: AbortSignal,
  ): Promise<LogPart>
  /**
   * The SSH key of the session, for the owner, and for members whom the owner lets use it: with the key they act as the owner
   * inside, as long as they may open connections.
   * @throws `session_not_running`, `agent_unreachable`, `forbidden`
   */
  sshAccess(caller: Caller, id: SessionId): Promise<SshAccess>
}

/** The next session, and the parts that were left out. */
export type Restarted = Session & { readonly notices?: Notice[] }

/** How a session is ended. */
export interface Ending {
  /** Text for the owner. */
  readonly why?: string | undefined
  /** For admins: programs get no time to end, and the end of a TERMINATING session does not wait for its agent. */
  readonly force?: boolean | undefined
}

export interface SessionServiceDeps extends Omit<ViewDeps, 'presence' | 'caller'>, EnqueueDeps {
  readonly agents: AgentRequests
  readonly longAnswers: LongAnswers
  readonly presence: PlacingPresence & MountsPresence
  readonly lifecycle: Pick<Lifecycle, 'terminate' | 'endUnconfirmed'>
  readonly changes: Pick<SessionChanges, 'hint'>
  /** Bytes per second of the last copy of an image between hosts; undefined before the first. */
  readonly copyRate?: () => number | undefined
}

export function createSessionService(deps: SessionServiceDeps): SessionService {
  const { store, agents, longAnswers, lifecycle, presence, changes } = deps
  const totals = createTotals(filter => countMatching(store.db, filter))
  const enqueue = createEnqueue(deps)
  const kernels = createKernelAccess({ db: store.db, agents, longAnswers })

  /** The value that was waited for, if the caller may still read the log of the session. */
  async function stillReadable<T>(caller: Caller, id: SessionId, found: Promise<T>): Promise<T> {
    const value = await found
    await requireStillSignedIn(store.db, caller)
    await requireReadable(store.db, caller, id)
    return value
  }

  async function view(caller: Caller, id: SessionId): Promise<Session> {
    const [session] = await viewAll(caller, [id])
    if (!session) throw new AppError('session_not_found', { sessionId: id })
    return session
  }

  async function viewOf(caller: Caller, row: OwnedSessionRow): Promise<Session> {
    const [session] = await toSessions(store.db, [row], { ...deps, caller })
    if (!session) throw new AppError('session_not_found', { sessionId: row.id })
    return session
  }

  async function viewAll(caller: Caller, ids: readonly SessionId[]): Promise<Session[]> {
    const rows = (await findSessions(store.db, ids)).filter(row => canSee(caller, ownedOf(row)))
    return toSessions(store.db, rows, { ...deps, caller })
  }

  /**
   * Sorting by a value needs the last session of the previous page, so that the list does not seem to end if that session was deleted. A
   * session that the list does not show to the caller counts as deleted.
   */
  async function requireCursor(id: SessionId, { order }: SessionSorting, { visible }: SessionFilter): Promise<void> {
    if (order === 'created' || (await countMatching(store.db, { visible, ids: [id] })) > 0) return
    throw new AppError('bad_request', because('page_end_deleted'))
  }

  return {
    async create(caller, spec, keyed) {
      const { ids, notices } = await enqueue(caller, spec, { keyed })
      const items = await viewAll(caller, ids)
      // A repeated request gets the result of the first one, unless the sender has meanwhile lost the right to see it.
      if (items.length === 0) throw new AppError('session_not_found', defined({ sessionId: ids[0] }))
      return { items, notices: [...notices] }
    },

    whatIf: (caller, spec) => answerWhatIf({ db: store.db, presence, caller, copyRate: deps.copyRate }, spec),
    fairShare: (caller, name) => explainFairShare({ db: store.db, presence, caller }, name),

    async restart(caller, id, { folders, keepCommand, keepFiles } = {}, keyed) {
      const ended = await requireOwn(store.db, caller, id, 'only_owner_restarts')
      const session = { ...ended, launched_by: otherLauncher(caller, ended) }
      // In a repeated request, the session of the first attempt already uses the files: do not look for them again.
      const files = keyed?.created ? undefined : await filesOf(store.db, session, { keepFiles })
      const mounts = folders ?? (await mountsOf(store.db, session, { keepCommand }))
      const environ = await findVariables(store.db, id)
      const { owner_id: ownerId, domain, allowed_names: names } = session
      const network = await networkAgain(store.db, { ownerId, keypair: caller.keypair, domain }, names)
      const specWith = (name?: string) => specOf(session, { environ, folders: mounts, name, network, keepCommand })
      const spec = specWith(session.name)
      await requireOwnImage(store.db, session, { keepCommand })
      const again = (of: SessionSpec) => enqueue(caller, of, { files, keyed })
      const { ids, notices } = await again(spec).catch((error: unknown) => {
        if (isAppError(error) && error.code === 'session_name_taken') return again(specWith())
        throw error
      })
      const [next] = await viewAll(caller, ids)
      if (!next) throw new Error(`session ${id} was not started again`)
      return notices.length === 0 ? next : { ...next, notices: [...notices] }
    },

    async list(caller, query) {
      const { filter, limit, after, sorting } = pageOf(caller, query)
      // An extra row shows whether there is a next page.
      const rows = await listSessions(store.db, filter, { limit: limit + 1, after, sorting })
      if (after !== undefined && rows.length === 0) await requireCursor(after, sorting, filter)
      const isAll = after === undefined && rows.length <= limit
      const [items, total] = await Promise.all([
        toSessions(store.db, rows.slice(0, limit), { ...deps, caller }),
        isAll ? rows.length : totals(filter),
      ])
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total }
    },

    get: async (caller, id) => viewOf(caller, await requireVisible(store.db, caller, id)),

    async details(caller, id) {
      const row = await requireVisible(store.db, caller, id)
      return withVariables(store.db, await viewOf(caller, row), { row, caller })
    },

    async update(caller, id, change) {
      await requireOwn(store.db, caller, id, 'only_owner_labels')
      // Only a person decides who else reads what their sessions write.
      if (change.adminsMayRead !== undefined) requireScope(caller, undefined)
      changes.hint(await updateLabels(store.db, id, change))
      return view(caller, id)
    },

    async terminate(caller, id, { why = '', force = false } = {}) {
      const session = await requireManaged(store.db, caller, id)
      const own = session.owner_id === caller.userId
      if (force && !administers(caller, session.domain))
        throw new AppError('forbidden', because('only_admin_forces_end'))
      const reason: Reason = own
        ? {
            code: 'user_terminated',
            message: why === '' ? 'Ended by the owner.' : `Ended by the owner: ${why}`,
            ...(why === '' ? {} : { note: why }),
          }
        : why === ''
          ? reasonOf('admin_terminated', because('ended_by', { who: caller.email }))
          : reasonOf('admin_terminated', because('ended_by_because', { who: caller.email, why }), { note: why })
      const by = { actor: caller.email, reason }
      if (force && session.status === 'TERMINATING') await lifecycle.endUnconfirmed(id, by)
      else await lifecycle.terminate(id, { ...by, ...(force ? { graceMs: 0 } : {}) })
      return view(caller, id)
    },

    async events(caller, id, { limit, cursor, sort }) {
      await requireVisible(store.db, caller, id)
      const after = cursor === undefined ? undefined : numberCursor(cursor)
      const { descending } = readSort(sort)
      const rows = await listSessionEvents(store.db, id, { limit: limit + 1, after, descending })
      const items = rows.slice(0, limit)
      return { items, nextCursor: rows.length > limit ? String(items.at(-1)?.id) : null }
    },

    async logs(caller, id, query, signal) {
      await requireReadable(store.db, caller, id)
      return await stillReadable(caller, id, kernels.logs(id, query, { userId: caller.userId, signal }))
    },

    async logPart(caller, id, query, signal) {
      await requireReadable(store.db, caller, id)
      return await stillReadable(caller, id, kernels.logPart(id, query, { userId: caller.userId, signal }))
    },

    async sshAccess(caller, id) {
      return kernels.sshAccess(await requireEnterable(store.db, caller, id, 'only_members_download_key'))
    },
  }
}
