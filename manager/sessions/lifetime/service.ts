import { AppError, because, parseSlots, reasonOf, type Session, type SessionId, together } from '#manager/contract'
import { withOwnGpus } from '../../stats/gpu-figures.ts'
import { type LiveStats } from '../../stats/live.ts'
import { type History, type HistoryQuery, readHistory } from '../../stats/history.ts'
import { extendLifetime, isPromised, readLifetimeLimits } from '../../store/sessions/lifetime.ts'
import { type KeyedRequest } from '../../store/operation/idempotency-keys.ts'
import { type Store } from '../../store/open-store.ts'
import { type Db } from '../../store/schema.ts'
import { insertSessionEvents } from '../../store/sessions/session-events.ts'
import { readTokenUse } from '../../store/identity/access-tokens.ts'
import { countingOf } from '../../store/identity/users.ts'
import { lockSession, type SessionRow } from '../../store/sessions/sessions.ts'
import { type Touched } from '../../store/sessions/touches.ts'
import { type Caller } from '../../users/authorize.ts'
import { type SessionChanges } from '../changes.ts'
import { kernelNamed } from '../kernel-named.ts'
import { requireManaged } from '../require-session.ts'
import { endOf, stricter } from './ends.ts'
import { extensionOf } from './extension.ts'
import { gpusOf } from '../token-gpu-time.ts'
import { lifetimeOf } from './lifetime-of.ts'

/** Users' operations on the lifetime of a session. For a user who may not see a session, it does not exist. */
export interface LifetimeService {
  /** @throws AppError `session_not_running`, `extension_refused`, `forbidden` (shared with the caller) */
  extend(caller: Caller, id: SessionId, bySeconds: number | undefined, keyed?: KeyedRequest): Promise<Session>
  /** @throws AppError `bad_request`, `kernel_not_found` */
  stats(caller: Caller, id: SessionId, query: HistoryQuery & { readonly kernel?: string | undefined }): Promise<History>
}

export interface LifetimeServiceDeps {
  readonly store: Store
  readonly changes: Pick<SessionChanges, 'hint'>
  readonly live: LiveStats
  /** @throws AppError `session_not_found` */
  readonly get: (caller: Caller, id: SessionId) => Promise<Session>
}

export function createLifetimeService({ store, changes, live, get }: LifetimeServiceDeps): LifetimeService {
  return {
    async extend(caller, id, bySeconds, keyed) {
      const { owner_id, token_id } = await requireManaged(store.db, caller, id)
      if (keyed?.created) return get(caller, id)
      const touched = await store.transaction(async trx => {
        // Locked before the session, so that a launch with the same token does not count the same GPU hours.
        if (token_id !== null) await countingOf(trx, owner_id)
        const extended = await extend(trx, id, { bySeconds, actor: caller.email })
        await keyed?.noteCreated(trx, [id])
        return extended
      })
      changes.hint([touched])
      return get(caller, id)
    },
    async stats(caller, id, { kernel: wanted, ...query }) {
      const { kernels, requested } = await get(caller, id)
      const kernel = wanted === undefined ? undefined : kernelNamed(kernels, wanted).id
      const history = await readHistory({ store, live }, { id, kernels: kernels.map(one => one.id), kernel }, query)
      // Minutes of an older version have the figures of the devices.
      const slots = parseSlots(requested)
      return { ...history, items: history.items.map(stats => withOwnGpus(stats, slots)) }
    },
  }
}

async function extend(
  trx: Db,
  id: SessionId,
  { bySeconds, actor }: { bySeconds: number | undefined; actor: string },
): Promise<Touched> {
  const session = await lockSession(trx, id)
  if (session?.status !== 'RUNNING' || !session.started_at) {
    throw new AppError('session_not_running', {
      sessionId: id,
      ...because('session_is', { status: session?.status ?? 'gone' }),
    })
  }
  const limits = await readLifetimeLimits(trx, {
    userId: session.owner_id,
    keypair: session.keypair,
    tokenId: session.token_id,
  })
  const byGpuHours = await allowedByGpuHours(trx, session)
  const allowedSeconds = stricter(limits.maxLifetimeSeconds, byGpuHours)
  const lifetime = lifetimeOf(session)
  const extension = extensionOf(
    {
      ...lifetime,
      startedAt: session.started_at.getTime(),
      allowedMs: allowedSeconds === null ? null : allowedSeconds * 1000,
      idleFirst: endOf(lifetime)?.why === 'idle_timeout',
      promised: await isPromised(trx, id),
    },
    bySeconds === undefined ? undefined : bySeconds * 1000,
  )
  if (!extension.ok) {
    const latest = extension.latest === null ? {} : { latest: new Date(extension.latest).toISOString() }
    throw new AppError('extension_refused', { ...extension.why, ...latest })
  }
  const expiresAt = extension.expiresAt === null ? null : new Date(extension.expiresAt)
  const again = because('idle_time_again')
  const until = expiresAt && because('may_run_until', { time: expiresAt.toISOString() })
  const reason = reasonOf('extended', until ? together(again, until) : again)
  await insertSessionEvents(trx, [{ sessionId: id, kernelId: null, from: 'RUNNING', to: 'RUNNING', reason, actor }])
  return extendLifetime(trx, id, expiresAt)
}

/** The lifetime from its start that the GPU hours of its access token allow a session. Seconds; null: no limit. */
async function allowedByGpuHours(trx: Db, session: SessionRow): Promise<number | null> {
  const { token_id, expires_at, started_at } = session
  const gpus = gpusOf(session.requested, session.cluster_size)
  if (token_id === null || gpus === 0 || !expires_at || !started_at) return null
  const { gpuSeconds, gpuSecondsTaken } = await readTokenUse(trx, token_id)
  if (gpuSeconds === null) return null
  const left = Math.max(0, Math.floor((gpuSeconds - gpuSecondsTaken) / gpus))
  return (expires_at.getTime() - started_at.getTime()) / 1000 + left
}
