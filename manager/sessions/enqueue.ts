import {
  AppError,
  because,
  type Notice,
  type Reason,
  SessionId,
  type SessionSpec,
  type UserId,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { toApp } from '../images/apps.ts'
import { type PlacingPresence } from '../scheduler/snapshot.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { countingOf } from '../store/identity/users.ts'
import { readTokenUse } from '../store/identity/access-tokens.ts'
import { overGpuHours } from './token-gpu-time.ts'
import { countWaiting, type NewSession } from '../store/sessions/sessions.ts'
import { takesOwnThings } from '../users/acting-for.ts'
import { type Caller, tokenOf } from '../users/authorize.ts'
import { holdSignedIn, requireStillSignedIn } from '../users/still-authorized.ts'
import { type News, type AccountNotifier } from '../users/account-notifier.ts'
import { checkRequest, type CheckedRequest } from './check-request.ts'
import { generateName, sessionNames } from './names.ts'
import { type LeftFiles, withoutNewDots } from './restart.ts'
import { writeNewSessions } from './write-new-sessions.ts'

export interface EnqueueDeps {
  readonly store: Store
  readonly presence: PlacingPresence
  readonly events: EventPublisher
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  /** Called when new sessions have been requested. */
  readonly onEnqueued: () => void
}

export interface Enqueued {
  readonly ids: readonly SessionId[]
  readonly notices: readonly Notice[]
}

const REQUESTED: Reason = { code: 'requested', message: 'Requested, waiting for the scheduler.' }

/**
 * Checks a request and writes its sessions as PENDING, all or none.
 *
 * @returns a function; `files` are the home directory that the session continues with, `keyed` the idempotency key of the
 *   request: if an earlier request with it created sessions, these are returned and nothing is created
 */
export function createEnqueue({ store, presence, events, notifier, onEnqueued }: EnqueueDeps) {
  return async function enqueue(
    caller: Caller,
    spec: SessionSpec,
    { files, keyed }: { files?: LeftFiles | undefined; keyed?: KeyedRequest | undefined } = {},
  ): Promise<Enqueued> {
    if (keyed?.created) return { ids: keyed.created.map(id => SessionId.parse(id)), notices: [] }
    const checked = await checkRequest({ db: store.db, presence, caller }, spec, files?.agentId)
    const { owner, asker } = checked
    const { mounts, notices } = withoutNewDots(files, checked.mounts)
    const sessions = newSessions(caller, spec, checked, files)
    const launched = sessions.map(({ id, name }) => ({ id, name }))
    const news: News[] = [{ userId: owner.userId, by: caller, kind: 'session_launched', sessions: launched }]
    const alongside = async (trx: Db) => {
      // Lock the owner first: if two requests held only a share lock, neither could count.
      await countingOf(trx, owner.userId)
      if (caller.userId === owner.userId) await requireStillSignedIn(trx, caller)
      else await holdSignedIn(trx, caller)
      await requireFewWaiting(trx, owner.userId)
      await requireWithinBudget(trx, tokenOf(caller))
      await notifier.write(trx, news)
    }
    await writeNewSessions(store, sessions, { reason: REQUESTED, actor: caller.email, keyed, mounts, alongside })
    for (const { id } of sessions) {
      events.publish({ topic: 'session', id, version: 1 }, { userId: owner.userId, domain: asker.domain })
    }
    onEnqueued()
    await notifier.announce(news)
    return { ids: sessions.map(({ id }) => id), notices: [...checked.notices, ...notices] }
  }
}

/** More sessions than anybody needs to queue: all waiting sessions are read for each plan. */
const MOST_WAITING = 1_000

/** Call it once the new sessions are written, in the same transaction. @throws AppError `over_person_limit` */
async function requireFewWaiting(trx: Db, ownerId: UserId): Promise<void> {
  if ((await countWaiting(trx, ownerId)) <= MOST_WAITING) return
  const limit = MOST_WAITING
  throw new AppError('over_person_limit', { limit, ...because('waiting_at_most', { limit }) })
}

/** Call it once the new sessions are written, in the same transaction. @throws AppError `over_person_limit` */
async function requireWithinBudget(trx: Db, tokenId: string | null): Promise<void> {
  if (tokenId === null) return
  const { mostSessions: limit, liveSessions, gpuSeconds, gpuSecondsTaken } = await readTokenUse(trx, tokenId)
  if (limit !== null && liveSessions > limit)
    throw new AppError('over_person_limit', { limit, ...because('token_sessions', { limit }) })
  // Ends of sessions are whole seconds.
  if (gpuSeconds !== null && gpuSecondsTaken > gpuSeconds + 1) throw overGpuHours(gpuSeconds)
}

function newSessions(
  caller: Caller,
  spec: SessionSpec,
  { owner, asker, image, reference, lifetime, ...checked }: CheckedRequest,
  files: LeftFiles | undefined,
): NewSession[] {
  const names = sessionNames(spec.name ?? generateName(), spec.count)
  const ids = names.map(() => newId(SessionId)).toSorted()
  return names.map((name, index) => ({
    id: ids[index] ?? newId(SessionId),
    name,
    ownerId: owner.userId,
    keypair: owner.keypair,
    launchedBy: takesOwnThings({ starterId: caller.userId, ownerId: owner.userId }) ? null : caller.email,
    tokenId: tokenOf(caller),
    domain: asker.domain,
    groupId: asker.groupId,
    status: 'PENDING',
    reason: REQUESTED,
    resourceGroup: spec.resourceGroup,
    image: reference,
    imageDigest: image.id,
    requested: checked.requested,
    gpu: spec.gpu ?? null,
    slurm: spec.slurm ?? null,
    clusterSize: checked.clusterSize,
    clusterMode: spec.clusterMode ?? 'single-host',
    allowedNames: checked.allowedNames ?? null,
    priority: checked.priority,
    dependsOn: checked.dependsOn,
    shmemBytes: checked.shmemBytes,
    shmemFromImage: checked.shmemFromImage,
    environ: spec.environ,
    // Shells do not understand the line breaks of Windows.
    startupCommand: spec.startupCommand?.replaceAll('\r\n', '\n') ?? null,
    runImageCommand: spec.runImageCommand ?? false,
    ...lifetime,
    filesOf: files?.kernelId ?? null,
    filesUsedByOthersAt: files?.usedByOthersAt ?? null,
    startsAt: checked.startsAt ?? null,
    interruptible: spec.interruptible ?? false,
    tags: spec.tags ?? [],
    note: spec.note ?? '',
    apps: image.apps.map(toApp),
    attempt: 0,
    createdAt: null,
    startedAt: null,
  }))
}
