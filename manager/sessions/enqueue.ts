import { type Notice, type Reason, SessionId, type SessionSpec } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { toApp } from '../images/apps.ts'
import { imagesOf } from '../images/images.ts'
import { admit, requireWithinLimits } from '../quotas/admission.ts'
import { emptyAgent, type PlacingPresence } from '../scheduler/snapshot.ts'
import { listAgents } from '../store/agents/agents.ts'
import { allDone } from '../store/all-done.ts'
import { readClock } from '../store/clock.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { readLifetimeLimits } from '../store/sessions/lifetime.ts'
import { type NewSession } from '../store/sessions/sessions.ts'
import { takesOwnThings } from '../users/acting-for.ts'
import { type Caller } from '../users/authorize.ts'
import { type News, type Telling } from '../users/telling.ts'
import { resolveDependencies } from './dependencies.ts'
import { resolveLifetime } from './lifetime/ends.ts'
import { requireOwner, resolveMountsFor } from './launch-owner.ts'
import { generateName, sessionNames } from './names.ts'
import { requirePriority } from './priority.ts'
import { resolveSpec } from './resolve-spec.ts'
import { type LeftFiles } from './restart.ts'
import { requireStartTime } from './start-time.ts'
import { writeNewSessions } from './write-new-sessions.ts'

export interface EnqueueDeps {
  readonly store: Store
  readonly presence: PlacingPresence
  readonly events: EventPublisher
  readonly telling: Pick<Telling, 'write' | 'announce'>
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
export function createEnqueue({ store, presence, events, telling, onEnqueued }: EnqueueDeps) {
  return async function enqueue(
    caller: Caller,
    spec: SessionSpec,
    { files, keyed }: { files?: LeftFiles | undefined; keyed?: KeyedRequest | undefined } = {},
  ): Promise<Enqueued> {
    if (keyed?.created) return { ids: keyed.created.map(id => SessionId.parse(id)), notices: [] }
    const owner = await requireOwner(store.db, caller, spec.owner)
    const { sessions, mounts, domain, notices } = await check({ caller, owner }, spec, files)
    const launched = sessions.map(({ id, name }) => ({ id, name }))
    const news: News[] = [{ userId: owner.userId, by: caller, kind: 'session_launched', sessions: launched }]
    const alongside = (trx: Db) => telling.write(trx, news)
    await writeNewSessions(store, sessions, { reason: REQUESTED, actor: caller.email, keyed, mounts, alongside })
    for (const { id } of sessions) {
      events.publish({ topic: 'session', id, version: 1 }, { userId: owner.userId, domain })
    }
    onEnqueued()
    await telling.announce(news)
    return { ids: sessions.map(({ id }) => id), notices }
  }

  /** @param owner whose rights and limits count: the caller, or the user that an admin launches for */
  async function check(
    { caller, owner }: { caller: Caller; owner: Caller },
    spec: SessionSpec,
    files: LeftFiles | undefined,
  ) {
    const startsAt =
      spec.startsAt === undefined ? undefined : requireStartTime(spec.startsAt, await readClock(store.db))
    const [asker, inGroup, images, limits] = await allDone([
      admit(store.db, owner, spec),
      listAgents(store.db, spec.resourceGroup),
      imagesOf(store.db, owner, spec.image),
      readLifetimeLimits(store.db, owner.userId, owner.keypair),
    ])
    // Only the agent that has the files can run it, so only that agent's images and resources count.
    const rows = files ? inGroup.filter(({ id }) => id === files.agentId) : inGroup
    const empty = rows.map(row => emptyAgent(row, presence))
    const resolved = resolveSpec(spec, images, empty)
    const { image, reference, requested, shmemBytes, shmemFromImage, notices } = resolved
    const amounts = { requested, clusterSize: spec.clusterSize ?? 1 }
    const [lifetime, dependsOn, mounts] = await allDone([
      requireWithinLimits(store.db, asker, amounts).then(() => {
        const ends = resolveLifetime(spec, limits)
        requirePriority(caller, asker.domain, spec.priority ?? 0)
        return ends
      }),
      resolveDependencies(store.db, owner.userId, spec.dependsOn ?? []),
      resolveMountsFor(store.db, { caller, owner }, spec),
    ])
    const names = sessionNames(spec.name ?? generateName(), spec.count)
    const ids = names.map(() => newId(SessionId)).toSorted()
    const sessions = names.map((name, index): NewSession => ({
      id: ids[index] ?? newId(SessionId),
      name,
      ownerId: owner.userId,
      keypair: owner.keypair,
      launchedBy: takesOwnThings({ starterId: caller.userId, ownerId: owner.userId }) ? null : caller.email,
      domain: asker.domain,
      groupId: asker.groupId,
      status: 'PENDING',
      reason: REQUESTED,
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
      runImageCommand: spec.runImageCommand ?? false,
      ...lifetime,
      filesOf: files?.kernelId,
      startsAt,
      interruptible: spec.interruptible ?? false,
      tags: spec.tags ?? [],
      note: spec.note ?? '',
      apps: image.apps.map(toApp),
    }))
    return { sessions, mounts, domain: asker.domain, notices }
  }
}
