import {
  type ApiClient,
  AppError,
  type Folder,
  type Keypair,
  type Session,
  SESSION_NAME,
  SessionId,
  UserId,
} from '#manager/contract'

/**
 * A session by its id or its name: of live ones first, then the newest that has ended; own ones, or those of the owner of a keypair.
 *
 * @param ownerKey access key of another user, whom an administrator acts for
 * @throws AppError `session_not_found`
 */
export async function findSession(api: ApiClient, name: string, ownerKey?: string): Promise<Session> {
  const id = SessionId.safeParse(name)
  if (id.success) return api.getSession({ params: { id: id.data } })
  if (!SESSION_NAME.test(name)) throw new AppError('session_not_found')
  const who = ownerKey === undefined ? { mine: 'true' } : { owner: (await findKeypair(api, ownerKey)).userId }
  for (const status of ['live', 'finished']) {
    const { items } = await api.listSessions({ query: { ...who, name, status, limit: 1 } })
    if (items[0]) return items[0]
  }
  throw new AppError('session_not_found')
}

/** @throws AppError `keypair_not_found` also for one that the caller may not see */
export async function findKeypair(api: ApiClient, accessKey: string): Promise<Keypair> {
  const { items } = await api.listKeypairs({ query: { search: accessKey, limit: 10 } })
  const found = items.find(keypair => keypair.accessKey === accessKey)
  if (found) return found
  throw new AppError('keypair_not_found')
}

/** Ids of folders have no hyphens in the original. */
export const shortId = (id: string): string => id.replaceAll('-', '')

/** A folder by its name or its id, with or without hyphens; own ones before those of others. @throws AppError `folder_not_found` */
export async function findFolder(api: ApiClient, name: string, trashed = false): Promise<Folder> {
  const { items } = await api.listFolders({ query: trashed ? { trashed: 'true' } : {} })
  const wanted = shortId(name.toLowerCase())
  const found =
    items.find(folder => shortId(folder.id) === wanted) ??
    items.find(folder => folder.name === name && folder.manageable) ??
    items.find(folder => folder.name === name)
  if (found) return found
  throw new AppError('folder_not_found')
}

/** A user by the address. @throws AppError `user_not_found`, `forbidden` */
export async function findUser(api: ApiClient, email: string) {
  const byId = UserId.safeParse(email)
  if (byId.success) return api.getUser({ params: { id: byId.data } })
  const { items } = await api.listUsers({ query: { search: email, limit: 100 } })
  const found = items.find(user => user.email.toLowerCase() === email.toLowerCase())
  if (found) return found
  throw new AppError('user_not_found')
}
