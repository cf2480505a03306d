import {
  type AgentPull,
  AppError,
  because,
  type ImagePush,
  type ImageRequest,
  type SessionId,
  type SessionImage,
  sessionImageOwner,
  sessionImagePrefix,
  type SessionImageSpec,
  type Task,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type EventPublisher } from '../events/bus.ts'
import { readKnownImages, toImages } from '../images/known-images.ts'
import { type Registries } from '../registries/registries.ts'
import { type Pulls } from '../images/pulls.ts'
import { type Settings } from '../settings/settings.ts'
import { findAgent } from '../store/agents/agents.ts'
import { limitCopyToDomains } from '../store/images/image-domains.ts'
import { resolveImageAlias } from '../store/images/image-aliases.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { insertMessages } from '../store/operation/messages.ts'
import { findSaveOf } from '../store/operation/tasks.ts'
import {
  findImageRequestOf,
  type ImageRequestRow,
  listImageRequests,
  putImageRequest,
  takeImageRequest,
} from '../store/sessions/image-requests.ts'
import { listKernels } from '../store/sessions/kernels.ts'
import { findSession, findSessions, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type Tasks } from '../tasks/tasks.ts'
import { RECHECK_MS, whileSuperadmin } from '../tasks/while-superadmin.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'
import { holdSignedIn } from '../users/still-authorized.ts'
import { requireOwn } from './require-session.ts'
import { readLaunchingDomains } from './rights/read-rights.ts'

const REQUEST_DAYS = 7
const TIMEOUT_MS = 2 * 60 * 60_000
const ownerOf = ({ owner_id: id, owner_email: email }: OwnedSessionRow) => ({ id, email })

/**
 * Images of sessions: the owner requests one, a superadmin accepts, and the agent of the session saves it.
 *
 * Threat model:
 * - Every user may launch an image that was saved here, and read all of it. So only the owner may request it, a superadmin sees the
 *   request, and the agent leaves out files that Berth gave the session (`agent/images/save-session.ts`). Requests of superadmins start at
 *   once, and all requests if the setting `sessionImages` is `allow`. Where some domains may not launch the session's image, by its own list
 *   or because of its registry, they may not launch the new one, whose name has no registry.
 * - An image never gets the name of another: all names are below `users/NAME/` of the session's owner, and known names are refused. So
 *   nobody can replace an image that others launch, or one that a recipe, a build of Berth or a host without images would use next. The
 *   image also has NAME as a label, which lists show beside its title, whatever the title says.
 * - Only one image of a session, and one of a name, is saved at a time; a session has at most one request, which expires.
 */
export interface SessionImages {
  /** @throws AppError `session_not_found`, `forbidden`, `session_not_running`, `bad_request`, `image_exists`, `not_signed_in` (ended meanwhile) */
  ask(caller: Caller, id: SessionId, spec: SessionImageSpec): Promise<SessionImage>
  /** @throws AppError `session_not_found`, `forbidden` */
  get(caller: Caller, id: SessionId): Promise<SessionImage>
  /** Withdraws the request, or cancels the work. @throws AppError `session_not_found`, `forbidden` */
  cancel(caller: Caller, id: SessionId): Promise<void>
  list(): Promise<ImageRequest[]>
  /**
   * @param push the registry to which the image is pushed; a rescan of it follows, so that other agents can pull the image
   * @throws AppError `image_request_not_found`, `session_not_running`, `image_exists`, `registry_not_found`, `bad_request`
   */
  accept(caller: Caller, requestId: string, push?: ImagePush): Promise<Task>
  /** @throws AppError `image_request_not_found` */
  decline(caller: Caller, requestId: string, reason: string): Promise<void>
}

export interface SessionImagesDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly agents: AgentRequests
  readonly tasks: Tasks
  readonly pulls: Pick<Pulls, 'follow'>
  readonly registries: Pick<Registries, 'pushAuth' | 'rescan'>
  readonly events: EventPublisher
  readonly recheckMs?: number
}

type Wanted = Pick<SessionImageSpec, 'reference'> & { readonly title: string | null }

export function createSessionImages(deps: SessionImagesDeps): SessionImages {
  const { store, settings, agents, tasks, pulls, registries, events, recheckMs = RECHECK_MS } = deps
  const { db } = store
  const hint = (session: OwnedSessionRow) =>
    events.publish({ topic: 'task', id: session.id, version: store.now() }, { userId: session.owner_id })

  async function start(
    session: OwnedSessionRow,
    { reference, title }: Wanted,
    caller: Caller,
    push?: ImagePush,
  ): Promise<Task> {
    const { kernelId, agent } = await placeOf(db, session)
    await requireFree(db, reference, session)
    const sessionId = session.id
    // Before the image is there: nobody else launches it meanwhile.
    const launchers = await readLaunchingDomains(db, { reference: session.image, digest: session.image_digest })
    for (const copy of [reference, ...(push ? [targetOf(push, reference)] : [])])
      if (launchers) await limitCopyToDomains(db, launchers, copy)
    const madeBy = sessionImageOwner(ownerOf(session))
    const detailOf = (change: Partial<AgentPull>) => {
      const pull = { agentId: agent.id, agentName: agent.name, progress: null, error: null, ...change }
      return { rescan: null, pull: [{ status: 'pulling' as const, ...pull }], sessionId }
    }
    const task = await tasks.start({
      kind: 'save',
      target: reference,
      startedBy: caller.email,
      userId: session.owner_id,
      detail: detailOf({}),
      async run({ signal, report }) {
        const options = { timeoutMs: TIMEOUT_MS, signal }
        let last: AgentPull['progress'] = null
        const follow = async (status: 'pulling' | 'pushing', work: (id: string) => Promise<unknown>) => {
          const id = newUuid()
          report(detailOf({ status }))
          const stop = pulls.follow(agent.id, id, progress => {
            last = progress
            report(detailOf({ status, progress }))
          })
          await work(id).finally(stop)
        }
        await follow('pulling', saveId =>
          agents.request(agent.id, 'save_kernel', { kernelId, reference, title, madeBy, saveId }, options),
        )
        if (push) {
          const target = targetOf(push, reference)
          // The owner asked for the image, so it is made in any case. The push uses the password of the registry, which is its starter's right.
          await whileSuperadmin({ db, starter: caller.userId, signal, recheckMs }, async until => {
            // The password is decrypted only when the push begins, and kept only while it lasts.
            const auth = await registries.pushAuth(push.registry)
            await follow('pushing', pushId => {
              const input = { reference, target, pushId, ...(auth ? { auth } : {}) }
              return agents.request(agent.id, 'push_image', input, { ...options, signal: until })
            })
          })
          // Other agents pull images that a rescan has found. A rescan that is already running, or fails, reports that in its own task.
          await registries.rescan(caller, push.registry).catch(() => undefined)
        }
        report(detailOf({ status: 'done', progress: last }))
      },
    })
    // This name is being saved from another session.
    if (task.sessionId !== sessionId) throw new AppError('image_exists', { reference })
    if (task.target !== reference) {
      throw new AppError('unavailable', because('session_saves_already', { reference: task.target }))
    }
    return task
  }

  async function stateOf(session: OwnedSessionRow): Promise<SessionImage> {
    const [request, save] = [await findImageRequestOf(db, session.id), await findSaveOf(db, session.id)]
    return {
      request: request ? toRequest(request, session) : null,
      task: save ? await tasks.get(save.id) : null,
    }
  }

  return {
    async ask(caller, id, { reference, title = null, note }) {
      const session = await requireOwn(db, caller, id, 'only_owner_saves')
      const { sessionImages } = await settings.read()
      if (sessionImages === 'off' && !isSuperadmin(caller)) {
        throw new AppError('forbidden', because('session_images_off'))
      }
      if (isSuperadmin(caller) || sessionImages === 'allow') {
        await start(session, { reference, title }, caller)
        return stateOf(session)
      }
      await placeOf(db, session)
      await requireFree(db, reference, session)
      const request = { id: newUuid(), sessionId: id, reference, title, note, days: REQUEST_DAYS }
      const entered = await store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        return putImageRequest(trx, request)
      })
      if (!entered) throw new AppError('image_exists', { reference })
      hint(session)
      return stateOf(session)
    },

    get: async (caller, id) => stateOf(await requireOwn(db, caller, id, 'only_owner_saves')),

    async cancel(caller, id) {
      const session = await requireOwn(db, caller, id, 'only_owner_saves')
      const { request, task } = await stateOf(session)
      if (request) await takeImageRequest(db, request.id)
      if (task?.status === 'running') await tasks.cancel(task.id)
      hint(session)
    },

    async list() {
      const rows = await listImageRequests(db)
      const sessions = await findSessions(
        db,
        rows.map(row => row.session_id),
      )
      const byId = new Map(sessions.map(session => [session.id, session]))
      return rows.flatMap(row => {
        const session = byId.get(row.session_id)
        return session ? [toRequest(row, session)] : []
      })
    },

    async accept(caller, requestId, push) {
      // If the registry does not exist, the request is not changed.
      if (push) await registries.pushAuth(push.registry)
      const row = await takeImageRequest(db, requestId)
      const session = row && (await findSession(db, row.session_id))
      if (!session) throw new AppError('image_request_not_found')
      return start(session, row, caller, push).finally(() => hint(session))
    },

    async decline(caller, requestId, reason) {
      const row = await takeImageRequest(db, requestId)
      const session = row && (await findSession(db, row.session_id))
      if (!session) throw new AppError('image_request_not_found')
      const { id, name, owner_id: userId } = session
      const text = [`The image ${row.reference} of this session is not made.`, reason].filter(Boolean).join('\n')
      await insertMessages(db, [{ userId, sender: caller.email, text, sessions: [{ id, name }] }])
      events.publish({ topic: 'message', id: userId, version: store.now() }, { userId })
      hint(session)
    },
  }
}

/** @throws AppError `bad_request` for a name outside of those of the owner, `image_exists` */
async function requireFree(db: Db, reference: string, session: OwnedSessionRow): Promise<void> {
  const prefix = sessionImagePrefix(ownerOf(session))
  if (!reference.startsWith(prefix)) throw new AppError('bad_request', because('session_image_name', { prefix }))
  const known = toImages(await readKnownImages(db, null, [reference])).some(image => image.reference === reference)
  if (known || (await resolveImageAlias(db, reference)) !== reference) throw new AppError('image_exists', { reference })
}

/** @throws AppError `session_not_running` */
async function placeOf(db: Db, session: OwnedSessionRow) {
  const [kernel] = await listKernels(db, [session.id])
  const agent = kernel?.agent_id ? await findAgent(db, kernel.agent_id) : undefined
  if (session.status !== 'RUNNING' || !kernel || !agent) {
    throw new AppError('session_not_running', { sessionId: session.id, ...because('image_of_running_session') })
  }
  return { kernelId: kernel.id, agent }
}

/** The name of a pushed image: registry, project, and the name that the owner requested. */
const targetOf = ({ registry, project }: ImagePush, reference: string) =>
  [registry, ...(project === undefined ? [] : [project]), reference].join('/')

function toRequest(row: ImageRequestRow, { id, name, image, owner_email: email }: OwnedSessionRow): ImageRequest {
  return {
    id: row.id,
    session: { id, name, image },
    email,
    reference: row.reference,
    title: row.title,
    note: row.note,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }
}
