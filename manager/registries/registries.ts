import { defined } from '#base/defined'
import {
  AppError,
  because,
  DOCKER_HUB,
  type Registry,
  type RegistryChange,
  type RegistryCheck,
  type RegistrySpec,
  type Task,
} from '#manager/contract'
import { type RegistryAuth } from '#agent/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Tasks, type TaskSpec } from '../tasks/tasks.ts'
import { RECHECK_MS, whileSuperadmin } from '../tasks/while-superadmin.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Store } from '../store/open-store.ts'
import {
  deleteRegistry,
  findRegistry,
  insertRegistry,
  listRegistries,
  type RegistryRow,
  setScanned,
  updateRegistry,
} from '../store/images/registries.ts'
import {
  deleteRegistryImages,
  findOfferedImage,
  readManifestDigests,
  saveRegistryImage,
} from '../store/images/registry-images.ts'
import { type Caller } from '../users/authorize.ts'
import { type Credentials } from './client/authorization.ts'
import { listHubRepositories } from './client/docker-hub.ts'
import { createRegistryClient } from './client/registry-client.ts'
import { registryAddress, registryOf } from './registry-address.ts'
import { checkRegistry, NOTHING_YET, rescanRegistry } from './rescan.ts'

/**
 * Registries, managed by superadmins. Passwords are encrypted in the database, decrypted only for the request that needs them (of this
 * process to the registry, or of an agent that pulls), and never returned by the API or logged.
 */
export interface Registries {
  list(): Promise<Registry[]>
  /** @throws AppError `bad_request`, `registry_exists` */
  create(spec: RegistrySpec): Promise<Registry>
  /**
   * A change from https to http forgets user name and password, unless both or the password are in the change.
   *
   * @throws AppError `bad_request`, `registry_not_found`
   */
  update(name: string, change: RegistryChange): Promise<Registry>
  /** @throws AppError `registry_not_found` */
  remove(name: string): Promise<void>
  /** The rescan ends when the caller is no superadmin any more. @throws AppError `registry_not_found`, `bad_request` (it is not active) */
  rescan(caller: Caller, name: string): Promise<Task>
  /**
   * Requests the repositories of the registry and the tags of the first one, even while it is not active. @throws AppError
   * `registry_not_found`, `registry_unreachable`, `registry_refused`, `registry_failed`
   */
  test(name: string): Promise<RegistryCheck>
  /** Credentials for an agent to push there; undefined if none are stored. @throws AppError `registry_not_found`, `bad_request` (it is not active) */
  pushAuth(name: string): Promise<RegistryAuth | undefined>
  /** Credentials for an agent to pull this; undefined if there are none, or the registry is not active. */
  authOf(reference: string): Promise<RegistryAuth | undefined>
  /** Credentials as `authOf`, for the image of a session, plus the manifest digest under which the registry has exactly that image. */
  pullOf(reference: string, digest: string | null): Promise<PullSource>
}

/** Input for an agent that pulls an image. */
export interface PullSource {
  readonly auth?: RegistryAuth | undefined
  readonly manifestDigest?: string | undefined
}

type Running = Parameters<TaskSpec['run']>[0]

export interface RegistriesDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly tasks: Tasks
  readonly events: EventPublisher
  readonly recheckMs?: number
}

/** Architecture of the images to look for: agents are assumed to have the same as this machine. */
const ARCHITECTURE = ({ x64: 'amd64', arm: 'arm', arm64: 'arm64' } as Record<string, string>)[process.arch] ?? 'amd64'
/** Time limit of a test, which sends at most three requests while an administrator waits. */
const TEST_MS = 30_000
/** Server address under which Docker stores the sign-in of Docker Hub. */
const HUB_AUTH_ADDRESS = 'https://index.docker.io/v1/'

export function createRegistries(deps: RegistriesDeps): Registries {
  const { store, box, tasks, events, recheckMs = RECHECK_MS } = deps
  const { db } = store

  async function existing(name: string): Promise<RegistryRow> {
    const row = await findRegistry(db, name)
    if (!row) throw noSuchRegistry(name)
    return row
  }

  async function announced(name: string): Promise<Registry> {
    const row = await existing(name)
    events.publish({ topic: 'registry', id: name, version: row.version }, 'superadmins')
    announceImages()
    return toRegistry(row)
  }

  function announceImages(): void {
    events.publish({ topic: 'image', id: 'all', version: store.now() }, 'everyone')
  }

  function credentialsOf({ name, username, sealed_password }: RegistryRow): Credentials | undefined {
    if (username === null || sealed_password === null) return undefined
    return { username, password: box.open(sealed_password, placeOf(name)) }
  }

  const clientOf = (row: RegistryRow) =>
    createRegistryClient({ url: new URL(row.url), credentials: credentialsOf(row), architecture: ARCHITECTURE })
  const listNamespace = (namespace: string, signal: AbortSignal) => listHubRepositories(namespace, { signal })

  async function scan(row: RegistryRow, { signal, report }: Pick<Running, 'signal' | 'report'>) {
    const { name, projects } = row
    const client = clientOf(row)
    try {
      const { vanished } = await rescanRegistry({
        registry: { name, projects },
        client,
        listNamespace,
        known: await readManifestDigests(db, name),
        found: image => saveRegistryImage(db, image),
        report: rescan => report({ rescan, pull: null }),
        signal,
      })
      await deleteRegistryImages(db, name, vanished)
      await setScanned(db, name)
    } finally {
      const now = await findRegistry(db, name)
      if (now) await announced(name)
    }
  }

  async function authOf(reference: string): Promise<RegistryAuth | undefined> {
    const row = await findRegistry(db, registryOf(reference))
    const credentials = row?.active ? credentialsOf(row) : undefined
    if (!row || !credentials) return undefined
    return { serverAddress: row.name === DOCKER_HUB ? HUB_AUTH_ADDRESS : row.name, ...credentials }
  }

  return {
    authOf,
    async pushAuth(name) {
      if (!(await existing(name)).active) throw new AppError('bad_request', because('registry_not_active'))
      return authOf(`${name}/any:1`)
    },
    list: async () => (await listRegistries(db)).map(toRegistry),

    async create({ allowHttp, ...spec }) {
      const { name, projects, active, username, password } = spec
      const url = registryAddress({ name, url: spec.url, allowHttp })
      checkPair(username ?? null, password !== undefined)
      const created = await insertRegistry(db, {
        name,
        url,
        projects,
        active,
        username: username ?? null,
        sealedPassword: password === undefined ? null : box.seal(password, placeOf(name)),
      })
      if (!created) throw new AppError('registry_exists', { registry: name })
      return announced(name)
    },

    async update(name, { url, allowHttp, password, ...change }) {
      const row = await existing(name)
      const address = url === undefined ? row.url : registryAddress({ name, url, allowHttp })
      // The password was given for a connection that nobody reads: it is not sent without TLS unless it is entered again.
      const ends = isEncrypted(row.url) && !isEncrypted(address) && password === undefined
      const kept = ends ? { username: null, sealed: null } : { username: row.username, sealed: row.sealed_password }
      const username = change.username === undefined ? kept.username : change.username
      const sealed = password === undefined ? kept.sealed : password && box.seal(password, placeOf(name))
      // A password is useless without a user name, so removing the user name removes the password.
      const sealedPassword = change.username === null ? null : sealed
      checkPair(username, sealedPassword !== null)
      await updateRegistry(db, name, {
        ...defined({ projects: change.projects, active: change.active }),
        ...(url === undefined ? {} : { url: address }),
        username,
        sealedPassword,
      })
      return announced(name)
    },

    async remove(name) {
      if (!(await deleteRegistry(db, name))) throw noSuchRegistry(name)
      for (const { id, kind, target, status } of await tasks.list()) {
        if (kind === 'rescan' && target === name && status === 'running') await tasks.cancel(id)
      }
      events.publish({ topic: 'registry', id: name, version: store.now() }, 'superadmins')
      announceImages()
    },

    async rescan(caller, name) {
      const row = await existing(name)
      if (!row.active) throw new AppError('bad_request', because('registry_not_active'))
      return tasks.start({
        kind: 'rescan',
        target: name,
        startedBy: caller.email,
        detail: { rescan: NOTHING_YET, pull: null },
        run: ({ signal, report }) =>
          whileSuperadmin({ db, starter: caller.userId, signal, recheckMs }, until =>
            scan(row, { signal: until, report }),
          ),
      })
    },

    async test(name) {
      const row = await existing(name)
      const client = clientOf(row)
      const found = await checkRegistry({ registry: row, client, listNamespace, signal: AbortSignal.timeout(TEST_MS) })
      return { ...found, signedIn: credentialsOf(row) !== undefined }
    },

    async pullOf(reference, digest) {
      const offered = await findOfferedImage(db, reference)
      const exact = offered && offered.digest === digest ? offered.manifest_digest : undefined
      return { auth: await authOf(reference), manifestDigest: exact }
    },
  }
}

const isEncrypted = (url: string) => url.startsWith('https:')

function noSuchRegistry(name: string): AppError {
  return new AppError('registry_not_found', { registry: name, ...because('registry_unknown', { registry: name }) })
}

/** Context to which a password is bound in the secret box; key rotation must use the same. */
function placeOf(name: string): string {
  return `registry:${name}`
}

function checkPair(username: string | null, hasPassword: boolean): void {
  if ((username !== null) === hasPassword) return
  throw new AppError('bad_request', because('user_and_password'))
}

function toRegistry(row: RegistryRow): Registry {
  return {
    name: row.name,
    url: row.url,
    projects: row.projects,
    username: row.username,
    hasPassword: row.sealed_password !== null,
    active: row.active,
    images: row.images,
    scannedAt: row.scanned_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    version: row.version,
  }
}
