import {
  because,
  type ErrorCode,
  type Folder,
  type FolderMountSpec,
  type Session,
  type SessionChange,
  type SessionShare,
  type SessionShareSpec,
  UserId,
} from '#manager/contract'
import { newId } from '../../manager/store/new-id.ts'

/** Data of the double about sessions besides the list. */
export interface SessionsWorld {
  sessions: Session[]
  /** Members of every session. */
  members?: SessionShare[]
  folders?: Folder[]
  /** Whether programs use every folder. */
  foldersBusy?: boolean
  /** Logs by the id of the session; with times if requested. */
  logs?: Readonly<Record<string, string>>
  /** Parts of every stored log; default: the log in one part. */
  logParts?: readonly string[]
}

type Answer =
  | { readonly status: number; readonly value: unknown }
  | { readonly error: ErrorCode; readonly detail?: Record<string, unknown> }

/** Answers a call about one session; undefined for calls answered elsewhere. */
export function answerSession(
  world: SessionsWorld,
  session: Session,
  route: string,
  body: unknown,
  search = '',
): Answer | undefined {
  const [method = '', path = ''] = route.split(' ')
  if (path.endsWith('/logs')) {
    return { status: 200, value: { text: world.logs?.[session.id] ?? 'Jupyter Server is running\n', truncated: false } }
  }
  if (path.endsWith('/log')) {
    const parts = world.logParts ?? [world.logs?.[session.id] ?? '']
    const part = Number(new URLSearchParams(search).get('part') ?? 1)
    return {
      status: 200,
      value: { text: parts[part - 1] ?? '', next: part < parts.length ? part + 1 : null, truncated: false },
    }
  }
  const [, app] = /\/apps\/(\w+)\/grant$/.exec(path) ?? []
  if (app !== undefined) {
    const value = session.apps.find(({ name }) => name === app)
    const expiresAt = new Date(Date.now() + 300_000).toISOString()
    return { status: 201, value: { grant: 'a-grant', sessionId: session.id, app: value, expiresAt, inject: null } }
  }
  if (path.endsWith('/image')) return { status: 200, value: { request: null, task: null } }
  const aboutFolder = answerMounts(world, session, `${route}${search}`, body)
  if (aboutFolder) return aboutFolder
  if (method === 'PATCH') {
    Object.assign(session, body as SessionChange, { version: session.version + 1 })
    return { status: 200, value: session }
  }
  const [, userId] = /\/shares(?:\/(.+))?$/.exec(path) ?? []
  if (!path.includes('/shares')) return undefined
  const members = (world.members ??= [])
  if (method === 'GET') return { status: 200, value: { items: members } }
  if (method === 'POST') {
    const { email, permission = 'view' } = body as Partial<SessionShareSpec> & { email: string }
    if (!email.endsWith('@example.com')) return { error: 'session_member_not_found' }
    const known = members.find(one => one.email === email)
    const share = { userId: newId(UserId), email, name: '', sharedAt: '2026-11-20T12:00:00.000Z', ...known, permission }
    world.members = [...members.filter(one => one !== known), share]
    change(world, session)
    return { status: 201, value: share }
  }
  world.members = members.filter(one => one.userId !== userId)
  if (session.sharedAs !== null) world.sessions = world.sessions.filter(one => one !== session)
  else change(world, session)
  return { status: 204, value: undefined }
}

function change({ members = [] }: SessionsWorld, session: Session): void {
  session.sharedWith = members.length
  session.version += 1
}

/** Folders of a running session. */
function answerMounts(world: SessionsWorld, session: Session, route: string, body: unknown): Answer | undefined {
  const [, method, folderId, force] =
    /^(\w+) \/api\/v1\/sessions\/[^/]+\/folders(?:\/([^?]+))?(\?force=true)?$/.exec(route) ?? []
  if (method === undefined) return undefined
  if (method === 'POST') {
    const { folder, path, readOnly = false } = body as FolderMountSpec
    const found = world.folders?.find(one => one.id === folder)
    if (!found) return { error: 'folder_not_found' }
    if (path === 'taken') return { error: 'folder_path_taken', detail: because('folder_path_taken', { path }) }
    const at = path?.startsWith('/') ? path : `/home/work/${path ?? found.name}`
    session.folders = [
      ...session.folders,
      { folderId: found.id, name: found.name, path: at, readOnly, added: true as const },
    ]
  } else {
    const path = session.folders.find(one => one.folderId === folderId)?.path ?? ''
    if (world.foldersBusy && force === undefined)
      return { error: 'folder_busy', detail: because('folder_busy', { path }) }
    session.folders = session.folders.filter(one => !(one.added && one.folderId === folderId))
  }
  change(world, session)
  return { status: method === 'POST' ? 201 : 200, value: session }
}
