import { mkdir } from 'node:fs/promises'
import { type ManagerId } from '#manager/contract'
import { type ManagerKey, openManagerKey } from '../agent-link/manager-key.ts'
import { type Cluster, type ClusterTimings, openCluster, standAlone } from '../cluster/cluster.ts'
import { SILENT_MS } from '../cluster/dedicated-connection.ts'
import { createEventBus, type EventBus } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { openSecretBox } from '../secrets/open-secret-box.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type SessionMembers, startSessionMembers } from '../sessions/members.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { loadManagerId } from '../store/operation/settings.ts'
import { version } from '../version.ts'

export interface StorePartDeps {
  /** Absolute; created if it is missing. */
  readonly dataDir: string
  /** If undefined, the embedded database is used. */
  readonly databaseUrl: string | undefined
  readonly masterKeyFile: string | undefined
  readonly timings: Partial<ClusterTimings> | undefined
  /** Aborts the start between two of its steps. */
  readonly signal: AbortSignal | undefined
  readonly log: Log
}

/** The database, the secrets in it, the other managers on it, and the hints about its changes. */
export interface StorePart extends AsyncDisposable {
  readonly store: Store
  readonly managerId: ManagerId
  readonly box: SecretBox
  /** Proves to agents that this is their manager. */
  readonly key: ManagerKey
  readonly cluster: Cluster
  readonly members: SessionMembers
  readonly bus: EventBus
}

/** @throws AppError `data_version_unsupported`, `data_dir_locked`, `unavailable`, `master_key_mismatch` */
export async function openStorePart(deps: StorePartDeps): Promise<StorePart> {
  const { dataDir, databaseUrl, masterKeyFile, timings, signal, log } = deps
  await using stack = new AsyncDisposableStack()
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  signal?.throwIfAborted()
  // With an external database, other managers may wait for the locks of a hung transaction.
  const silentMs = databaseUrl === undefined ? undefined : SILENT_MS
  const store = stack.use(await openStore({ databaseUrl, dataDir, log, silentMs }))
  signal?.throwIfAborted()
  const managerId = await loadManagerId(store.db)
  const box = await openSecretBox({ store, dataDir, file: masterKeyFile, log })
  const key = await openManagerKey(store.db, box)
  const cluster = stack.use(
    databaseUrl === undefined
      ? standAlone(version, () => store.now())
      : await openCluster({ store, databaseUrl, version, log, timings }),
  )
  signal?.throwIfAborted()
  const members = stack.use(await startSessionMembers({ store, peers: cluster.peers, log }))
  const bus = createEventBus(cluster.peers, undefined, id => members.of(id))
  const opened = stack.move()
  return {
    store,
    managerId,
    box,
    key,
    cluster,
    members,
    bus,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
