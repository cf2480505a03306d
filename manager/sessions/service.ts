import {
  type AgentId,
  AppError,
  clusterRoles,
  FINISHED_STATUSES,
  type GroupId,
  isAppError,
  KernelId,
  LIVE_STATUSES,
  type Notice,
  type Reason,
  type Session,
  type SessionEvent,
  SessionId,
  type SessionSpec,
  SessionStatus,
  type SshAccess,
  type UserId,
  type WhatIf,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type EventPublisher } from '../events/bus.ts'
import { imagesOf } from '../images/images.ts'
import { admit, requireWithinLimits } from '../quotas/admission.ts'
import { emptyAgent, type PlacingPresence } from '../scheduler/snapshot.ts'
import { listAgents } from '../store/agents/agents.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { insertKernels, type KernelRow, listKernels } from '../store/sessions/kernels.ts'
import { readLifetimeLimits } from '../store/sessions/lifetime.ts'
import { newId } from '../store/new-id.ts'
import { holdResourceGroup } from '../store/identity/removal.ts'
import { noSuchResourceGroup } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { insertSessionEvents, listSessionEvents } from '../store/sessions/session-events.ts'
import { isForeignKeyViolation, isUniqueViolation } from '../store/violations.ts'
import { countMatching, listSessions } from '../store/sessions/session-list.ts'
import {
  findSession,
  findSessions,
  insertSessions,
  type NewSession,
  ownedOf,
  type OwnedSessionRow,
} from '../store/sessions/sessions.ts'
import { type Caller, canEnter, canSee, visibleTo } from '../users/authorize.ts'
import { fingerprintOfLine } from '../users/ssh-public-key.ts'
import { toApp } from '../images/apps.ts'
import { type Lifecycle } from './lifecycle/lifecycle.ts'
import { resolveLifetime } from './lifetime/ends.ts'
import { resolveDependencies } from './dependencies.ts'
import { generateName, sessionNames } from './names.ts'
import { requirePriority } from './priority.ts'
import { filesOf, type LeftFiles, specOf } from './restart.ts'
import { resolveSpec } from './resolve-spec.ts'
import { createTotals } from './totals.ts'
import { answerWhatIf } from './what-if.ts'
import { toSessions, type ViewDeps } from './views.ts'

/**
 * The operations users have on sessions, with their rules. A user who may not see a session is told that it does not
 * exist.
 */
export interface SessionService {
  /**
   * Creates all sessions or none.
   * @throws `image_not_found`, `request_too_large`, `session_name_taken`, `dependency_not_found`, `forbidden`
   *   (priority), `bad_request`, and as `admit` and `requireWithinLimits`
   */
  create(caller: Caller, spec: SessionSpec, keyed?: KeyedRequest): Promise<{ items: Session[]; notices: Notice[] }>
  /**
   * Creates the same session again, on its agent, with its files. The new one takes the name unless a live session has
   * it by now.
   * @throws `session_not_found`, `forbidden`, `session_live`, `files_gone`, and as `create`
   */
  restart(caller: Caller, id: SessionId, keyed?: KeyedRequest): Promise<Session>
  /** Predicts whether the request would start now, without creating anything. @throws as `create`, except for names */
  whatIf(caller: Caller, spec: SessionSpec): Promise<WhatIf>
  list(caller: Caller, query: SessionQuery): Promise<{ items: Session[]; nextCursor: string | null; total: number }>
  get(caller: Caller, id: SessionId): Promise<Session>
  /** Cancels or terminates; a session that ends or has ended is left as it is. */
  terminate(caller: Caller, id: SessionId): Promise<Session>
  events(caller: Caller, id: SessionId): Promise<SessionEvent[]>
  /**
   * Logs of one kernel (by role or id; the main one by default): live from the agent while it runs, afterwards the
   * stored tail.
   * @throws `agent_unreachable`, `kernel_not_found`
   */
  logs(
    caller: Caller,
    id: SessionId,
    query: { tail: number; kernel?: string | undefined },
  ): Promise<{ text: string; truncated: boolean }>
  /**
   * The SSH key of the session, for the owner only: with the key, anybody else could act as the owner.
   * @throws `session_not_running`, `agent_unreachable`
   */
  sshAccess(caller: Caller, id: SessionId): Promise<SshAccess>
}

export interface SessionQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly status?: string | undefined
  /** Comma-separated. */
  readonly ids?: string | undefined
  readonly name?: string | undefined
  readonly mine?: boolean | undefined
  readonly owner?: UserId | undefined
  readonly domain?: string | undefined
  readonly group?: GroupId | undefined
}

export interface SessionServiceDeps extends ViewDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly presence: PlacingPresence
  readonly lifecycle: Lifecycle
  readonly events: EventPublisher
  /** Called when new sessions have been requested. */
  readonly onEnqueued: () => void
}

const AGENT_TIMEOUT_MS = 15_000

export function createSessionService(deps: SessionServiceDeps): SessionService {
  const { store, agents, lifecycle, events, presence } = deps
  const totals = createTotals(filter => countMatching(store.db, filter))

  async function visible(caller: Caller, id: SessionId): Promise<OwnedSessionRow> {
    const session = await findSession(store.db, id)
    if (!session || !canSee(caller, ownedOf(session))) throw new AppError('session_not_found', { sessionId: id })
    return session
  }

  async function view(id: SessionId): Promise<Session> {
    const row = await findSession(store.db, id)
    const [session] = row ? await toSessions(store.db, [row], deps) : []
    if (!session) throw new AppError('session_not_found', { sessionId: id })
    return session
  }

  async function mainKernel(id: SessionId): Promise<KernelRow> {
    const [kernel] = await listKernels(store.db, [id])
    if (!kernel) throw new Error(`session ${id} has no kernel`)
    return kernel
  }

  async function kernelNamed(id: SessionId, wanted: string): Promise<KernelRow> {
    const kernel = (await listKernels(store.db, [id])).find(one => one.role === wanted || one.id === wanted)
    if (kernel) return kernel
    throw new AppError('kernel_not_found', { kernel: wanted, why: `The session has no kernel "${wanted}".` })
  }

  /** @throws AppError `session_not_running` */
  async function runningKernel(session: OwnedSessionRow): Promise<{ kernelId: KernelId; agentId: AgentId }> {
    const kernel = await mainKernel(session.id)
    if (session.status === 'RUNNING' && kernel.agent_id) return { kernelId: kernel.id, agentId: kernel.agent_id }
    throw new AppError('session_not_running', { sessionId: session.id, why: `The session is ${session.status}.` })
  }

  async function viewAll(ids: readonly SessionId[]): Promise<Session[]> {
    return toSessions(store.db, await findSessions(store.db, ids), deps)
  }

  async function enqueue(
    caller: Caller,
    spec: SessionSpec,
    { files, keyed }: { files?: LeftFiles | undefined; keyed?: KeyedRequest | undefined } = {},
  ): ReturnType<SessionService['create']> {
    if (keyed?.created) return { items: await viewAll(keyed.created.map(id => SessionId.parse(id))), notices: [] }
    const asker = await admit(store.db, caller, spec)
    const inGroup = await listAgents(store.db, spec.resourceGroup)
    // Only the agent that has the files can run it, so only that agent's images and resources count.
    const rows = files ? inGroup.filter(({ id }) => id === files.agentId) : inGroup
    const images = await imagesOf(store.db, caller, spec.image)
    const empty = rows.map(row => emptyAgent(row, presence))
    const resolved = resolveSpec(spec, images, empty)
    const { image, reference, requested, shmemBytes, shmemFromImage, notices } = resolved
    await requireWithinLimits(store.db, asker, { requested, clusterSize: spec.clusterSize ?? 1 })
    const lifetime = resolveLifetime(spec, await readLifetimeLimits(store.db, caller.userId, caller.keypair))
    requirePriority(caller, asker.domain, spec.priority ?? 0)
    const dependsOn = await resolveDependencies(store.db, caller.userId, spec.dependsOn ?? [])
    const names = sessionNames(spec.name ?? generateName(), spec.count)
    const reason: Reason = { code: 'requested', message: 'Requested, waiting for the scheduler.' }
    const ids = names.map(() => newId(SessionId)).toSorted()
    const sessions = names.map((name, index): NewSession => ({
      id: ids[index] ?? newId(SessionId),
      name,
      ownerId: caller.userId,
      keypair: caller.keypair,
      domain: asker.domain,
      groupId: asker.groupId,
      status: 'PENDING',
      reason,
      resourceGroup: spec.resourceGroup,
      image: reference,
      imageDigest: image.id,
      requested,
      clusterSize: spec.clusterSize ?? 1,
      priority: spec.priority ?? 0,
      dependsOn,
      shmemBytes,
      shmemFromImage,
      environ: spec.environ,
      startupCommand: spec.startupCommand ?? null,
      ...lifetime,
      filesOf: files?.kernelId,
      apps: image.apps.map(toApp),
    }))
    await insertAll(store, sessions, { reason, actor: caller.email, keyed })
    for (const { id } of sessions) {
      events.publish({ topic: 'session', id, version: 1 }, { userId: caller.userId, domain: asker.domain })
    }
    deps.onEnqueued()
    return { items: await viewAll(sessions.map(session => session.id)), notices: [...notices] }
  }

  return {
    create: (caller, spec, keyed) => enqueue(caller, spec, { keyed }),

    whatIf: (caller, spec) => answerWhatIf({ db: store.db, presence, caller }, spec),

    async restart(caller, id, keyed) {
      const session = await visible(caller, id)
      if (session.owner_id !== caller.userId) {
        throw new AppError('forbidden', { why: 'Only the owner of a session can start it again with its files.' })
      }
      // A repeated request finds the files in use by the session that its first attempt made: do not look for them
      // again.
      const files = keyed?.created ? undefined : await filesOf(store.db, session)
      const again = (name?: string) => enqueue(caller, specOf(session, name), { files, keyed })
      const { items } = await again(session.name).catch((error: unknown) => {
        if (isAppError(error) && error.code === 'session_name_taken') return again()
        throw error
      })
      const [next] = items
      if (!next) throw new Error(`session ${id} was not started again`)
      return next
    },

    async list(caller, { limit: asked, cursor, status, ids: named, name, mine, owner, domain, group }) {
      const before = cursor === undefined ? undefined : SessionId.safeParse(cursor)
      if (before && !before.success)
        throw new AppError('bad_request', {
          why: 'The cursor is not valid. Use the one that the last page of this list returned.',
        })
      const visible = mine ? { ownerId: caller.userId } : visibleTo(caller)
      const ids = named === undefined ? undefined : parseIds(named)
      // Sessions requested by id come on one page, whatever its usual size.
      const limit = Math.max(asked, ids?.length ?? 0)
      const filter = { visible, ids, statuses: parseStatuses(status), name, ownerId: owner, domain, groupId: group }
      // One row more than requested shows whether there is a next page.
      const rows = await listSessions(store.db, filter, { limit: limit + 1, before: before?.data })
      const isAll = before === undefined && rows.length <= limit
      const total = isAll ? rows.length : await totals(filter)
      const items = await toSessions(store.db, rows.slice(0, limit), deps)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total }
    },

    async get(caller, id) {
      await visible(caller, id)
      return view(id)
    },

    async terminate(caller, id) {
      const session = await visible(caller, id)
      const own = session.owner_id === caller.userId
      const reason: Reason = own
        ? { code: 'user_terminated', message: 'Ended by the owner.' }
        : { code: 'admin_terminated', message: `Ended by ${caller.email}.` }
      await lifecycle.terminate(id, { actor: caller.email, reason })
      return view(id)
    },

    async events(caller, id) {
      await visible(caller, id)
      return listSessionEvents(store.db, id)
    },

    async logs(caller, id, { tail, kernel: wanted }) {
      await visible(caller, id)
      const kernel = wanted === undefined ? await mainKernel(id) : await kernelNamed(id, wanted)
      if (kernel.status === 'RUNNING' && kernel.agent_id) {
        const input = { kernelId: kernel.id, tail }
        return agents.request(kernel.agent_id, 'get_logs', input, { timeoutMs: AGENT_TIMEOUT_MS, patient: true })
      }
      return lastLines(kernel.log_tail ?? '', tail)
    },

    async sshAccess(caller, id) {
      const session = await visible(caller, id)
      if (!canEnter(caller, ownedOf(session))) {
        throw new AppError('forbidden', { why: 'Only the owner of a session can download its key.' })
      }
      const { kernelId, agentId } = await runningKernel(session)
      const ssh = await agents.request(agentId, 'get_ssh', { kernelId }, { timeoutMs: AGENT_TIMEOUT_MS, patient: true })
      return { ...ssh, hostKeyFingerprint: fingerprintOfLine(ssh.hostKey) }
    },
  }
}

async function insertAll(
  store: Store,
  sessions: readonly NewSession[],
  { reason, actor, keyed }: { reason: Reason; actor: string; keyed?: KeyedRequest | undefined },
): Promise<void> {
  try {
    await store.transaction(async trx => {
      const { resourceGroup } = sessions[0] ?? {}
      // The resource group may have been deleted since the request was admitted.
      if (resourceGroup !== undefined && !(await holdResourceGroup(trx, resourceGroup))) {
        throw noSuchResourceGroup(resourceGroup)
      }
      await insertSessions(trx, sessions)
      await insertKernels(
        trx,
        sessions.flatMap(({ id: sessionId, status, requested: slots, clusterSize = 1 }) =>
          clusterRoles(clusterSize).map(role => ({ id: newId(KernelId), sessionId, role, status, slots })),
        ),
      )
      await insertSessionEvents(
        trx,
        sessions.map(session => ({
          sessionId: session.id,
          kernelId: null,
          from: null,
          to: session.status,
          reason,
          actor,
        })),
      )
      await keyed?.noteCreated(
        trx,
        sessions.map(({ id }) => id),
      )
    })
  } catch (error) {
    if (isUniqueViolation(error, 'sessions_files_of')) {
      throw new AppError(
        'files_gone',
        { why: 'Another session has taken over the files of this session.' },
        { cause: error },
      )
    }
    if (isForeignKeyViolation(error, 'sessions_group_id_fkey')) {
      throw new AppError(
        'group_not_found',
        { why: 'The project was deleted a moment ago. Choose another one.' },
        { cause: error },
      )
    }
    if (!isUniqueViolation(error, 'sessions_live_name')) throw error
    const names = sessions.map(session => session.name)
    const why = `You have a live session named ${names.map(name => `"${name}"`).join(' or ')}. Choose another name.`
    throw new AppError('session_name_taken', { names, why }, { cause: error })
  }
}

/** The schema of the route has checked the text. */
function parseStatuses(text: string | undefined): readonly SessionStatus[] | undefined {
  if (!text) return undefined
  if (text === 'live') return LIVE_STATUSES
  if (text === 'finished') return FINISHED_STATUSES
  return text.split(',').map(status => SessionStatus.parse(status))
}

/** The schema of the route has checked the text. */
function parseIds(text: string): readonly SessionId[] {
  return text.split(',').map(id => SessionId.parse(id))
}

function lastLines(text: string, tail: number): { text: string; truncated: boolean } {
  const lines = text.split('\n')
  // A text that ends with a line feed has no last line after it.
  const ended = lines.at(-1) === ''
  const kept = lines.slice(-(tail + (ended ? 1 : 0)))
  return { text: kept.join('\n'), truncated: kept.length < lines.length }
}
