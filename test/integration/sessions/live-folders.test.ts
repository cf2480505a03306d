import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { defined } from '#base/defined'
import {
  type ApiClient,
  type Folder,
  type FolderMountSpec,
  parseAppsAddress,
  type Session,
  type SessionSpec,
} from '#manager/contract'
import { createCli } from '../../fixtures/cli.ts'
import { type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Folders that are added to running sessions and taken out, from the manager's view (ADR 57). */
let cluster: SessionsCluster
let agent: ScriptedAgent
let marker: string
beforeAll(async () => {
  const appsAddress = parseAppsAddress('http://*.apps.example.org')
  cluster = await startSessionsCluster(
    undefined,
    defined({ consoleSecret: 'of-console-and-manager-in-tests', appsAddress }),
  )
  marker = (await readFile(join(cluster.source.dataDir, 'storage/.berth-storage'), 'utf8')).trim()
})
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  agent = await cluster.join({ storage: [marker] })
})
afterEach(() => cluster.reset())

let made = 0
const make = (name = `folder-${++made}`, api: ApiClient = cluster.api) => api.createFolder({ body: { name } })
const get = ({ id }: Session) => cluster.api.getSession({ params: { id } })
async function running(spec: Partial<SessionSpec> = {}, api?: ApiClient): Promise<Session> {
  const { id } = await cluster.launch({ automount: false, ...spec }, api)
  const session = await cluster.reach(id, 'RUNNING')
  await expect.poll(async () => (await get(session)).foldersFixed).toBeNull()
  return session
}
const add = ({ id }: Session, folder: Folder, more: Partial<FolderMountSpec> = {}, api: ApiClient = cluster.api) =>
  api.addSessionFolder({ params: { id }, body: { folder: folder.id, ...more } })
const take = ({ id }: Session, { id: folderId }: Folder, force = false) =>
  cluster.api.removeSessionFolder({ params: { id, folderId }, query: force ? { force: 'true' } : {} })
const trash = ({ id }: Folder) => cluster.api.trashFolder({ params: { id } })
const mountsOf = ({ kernels }: Session) =>
  kernels.map(({ id }) => agent.containers.get(id)?.mounts?.folders.map(({ path }) => path))
const places = async (session: Session) => (await get(session)).folders.map(({ path, pending }) => [path, pending])

test('a folder is added, protected while it is there, seen in the timeline and the audit log, and taken out', async () => {
  const [launched, folder] = [await make(), await make()]
  const session = await running({ folders: [{ folder: launched.id }] })
  const after = await add(session, folder, { path: 'deep/data', readOnly: true })
  const mount = { folderId: folder.id, name: folder.name, path: '/home/work/deep/data', readOnly: true, added: true }
  expect(after.folders).toContainEqual(mount)
  expect((await add(session, folder, { path: 'deep/data', readOnly: true })).folders).toEqual(after.folders)
  const wanted = { storage: marker, folder: folder.id, path: 'deep/data', readOnly: true }
  expect(agent.requests('mount_folder').map(({ folder: sent }) => sent)).toEqual([wanted, wanted])
  expect(await refusal(trash(folder))).toMatchObject({ code: 'folder_in_use' })
  // Folders that came with the launch stay.
  expect(await refusal(take(session, launched))).toMatchObject({
    code: 'session_folders_fixed',
    detail: { cause: 'folder_from_launch' },
  })

  expect((await take(session, folder)).folders).toHaveLength(1)
  expect(await refusal(take(session, folder))).toMatchObject({ code: 'folder_not_found' })
  expect((await trash(folder)).status).toBe('trashed')
  const { items: events } = await cluster.api.listSessionEvents({ params: { id: session.id } })
  expect(events.slice(-2)).toMatchObject([
    { from: 'RUNNING', to: 'RUNNING', actor: 'admin@localhost', reason: { code: 'folder_added' } },
    { to: 'RUNNING', reason: { code: 'folder_taken_out', values: { path: '/home/work/deep/data' } } },
  ])
  const { items: entries } = await cluster.api.listAuditLog({ query: { limit: '50' } })
  const named = JSON.stringify(entries)
  expect([named.includes('addSessionFolder'), named.includes('removeSessionFolder')]).toEqual([true, true])
})

test('the rules are those of a launch', async () => {
  const other = await cluster.addUser('other@localhost')
  const [folder, theirs, gone] = [await make(), await make(undefined, other), await make()]
  const at = await make()
  await trash(gone)
  const session = await running({ folders: [{ folder: at.id, path: 'at' }] })
  const refused = async (...call: Parameters<typeof add>) => (await refusal(add(...call))).code
  expect(await refused(session, folder, {}, other)).toBe('session_not_found')
  expect(await refused(session, theirs)).toBe('folder_not_found')
  expect(await refused(session, gone)).toBe('folder_not_found')
  for (const path of ['at', 'at/below', '.bashrc', '../out'])
    expect(await refused(session, folder, { path })).toBe('bad_request')
  await add(session, folder, { path: 'one' })
  expect(await refused(session, folder, { path: 'two' })).toBe('bad_request')
  expect(await refused(session, await make(), { path: 'one/below' })).toBe('bad_request')

  // A folder that is shared for reading is read-only, whatever is requested.
  await other.inviteToFolder({ params: { id: theirs.id }, body: { email: 'admin@localhost', permission: 'ro' } })
  const invitation = (await cluster.api.listFolderInvitations()).items.at(-1)
  if (!invitation) throw new Error('no invitation')
  await cluster.api.acceptFolderInvitation({ params: { id: invitation.id } })
  expect((await add(session, theirs, { readOnly: false })).folders).toContainEqual(
    expect.objectContaining({ folderId: theirs.id, readOnly: true }),
  )

  agent.storage = []
  agent.report()
  await expect.poll(async () => refused(session, await make())).toBe('storage_away')
  await cluster.api.deleteSession({ params: { id: session.id } })
  await cluster.reach(session.id, 'TERMINATED')
  expect(await refused(session, await make())).toBe('session_not_running')
  // A restart keeps the folders.
  agent.storage = [marker]
  agent.report()
  const next = await cluster.api.restartSession({ params: { id: session.id } })
  expect(next.folders.map(({ path, added }) => [path, added])).toEqual(
    ['at', 'one', theirs.name].toSorted().map(path => [`/home/work/${path}`, undefined]),
  )
})

test('a mount that was lost while its right was withdrawn does not come back', async () => {
  const other = await cluster.addUser('other@localhost')
  const theirs = await make(undefined, other)
  const invited = { params: { id: theirs.id }, body: { email: 'admin@localhost', permission: 'rw' } } as const
  const { id } = await other.inviteToFolder(invited)
  await cluster.api.acceptFolderInvitation({ params: { id } })
  const session = await running()
  await add(session, theirs)
  await other.deleteFolderMember({ params: { id: theirs.id, userId: session.ownerId } })
  // A withdrawal does not change running sessions.
  expect((await get(session)).folders).toMatchObject([{ folderId: theirs.id }])
  const container = session.kernels[0] && agent.containers.get(session.kernels[0].id)
  if (!container?.mounts) throw new Error('no mounts')
  // No report of the agent ever contained the mount: the manager knows it from the reply.
  container.mounts = { closed: null, folders: [] }
  agent.report()
  await expect.poll(async () => (await get(session)).folders).toEqual([])
  expect(agent.requests('mount_folder')).toHaveLength(1)
})

test('a mount that is lost before any report had it comes back', async () => {
  const [session, folder] = [await running(), await make()]
  await add(session, folder)
  const container = session.kernels[0] && agent.containers.get(session.kernels[0].id)
  if (!container) throw new Error('no container')
  container.mounts = { closed: null, folders: [] }
  agent.report()
  await expect.poll(() => mountsOf(session)).toEqual([[folder.name]])
  // The same for a removed folder that is mounted again.
  await take(session, folder)
  const [sent] = agent.requests('mount_folder')
  if (!sent) throw new Error('nothing was mounted')
  container.mounts = { closed: null, folders: [sent.folder] }
  agent.report()
  await expect.poll(() => places(session)).toEqual([[`/home/work/${folder.name}`, undefined]])
})

test('a report that comes during a request is looked at after it', async () => {
  const [session, folder, found] = [await running(), await make(), await make()]
  agent.script.mount_folder = async ({ kernelId, folder: sent }) => {
    agent.mount(kernelId, sent)
    agent.mount(kernelId, { storage: marker, folder: found.id, path: 'found', readOnly: false })
    agent.report()
    // The manager has processed the report once it has answered twice.
    for (let read = 0; read < 2; read++) await get(session)
    return {}
  }
  await add(session, folder)
  await expect.poll(() => places(session)).toContainEqual(['/home/work/found', undefined])
})

test('where the host cannot, the session says why and the request is refused', async () => {
  const session = await running()
  const [kernel] = session.kernels
  const container = kernel && agent.containers.get(kernel.id)
  if (!container) throw new Error('no container')
  container.mounts = {
    closed: 'Its container is older.',
    closedBy: { cause: 'folders_container_older' },
    folders: [],
  }
  agent.report()
  await expect.poll(async () => (await get(session)).foldersFixed?.cause).toBe('folders_container_older')
  expect(await refusal(add(session, await make()))).toMatchObject({
    code: 'session_folders_fixed',
    detail: { cause: 'folders_container_older' },
  })
  // An agent of an earlier version does not report this.
  delete container.mounts
  agent.report()
  await expect.poll(async () => (await get(session)).foldersFixed?.cause).toBe('folders_not_told')
  expect(agent.requests('mount_folder')).toEqual([])
})

test('what the agent refuses leaves no record; in a cluster, all kernels have the folder or none', async () => {
  const folder = await make()
  const session = await running({ clusterSize: 2 })
  const [, second] = session.kernels
  agent.script.mount_folder = ({ kernelId, folder: sent }) => {
    if (kernelId === second?.id) throw new ScriptedError('folder_path_taken', 'taken')
    return agent.mount(kernelId, sent)
  }
  expect(await refusal(add(session, folder))).toMatchObject({ code: 'folder_path_taken' })
  expect([mountsOf(session), await places(session)]).toEqual([[[], []], []])
  agent.script.mount_folder = ({ kernelId, folder: sent }) => agent.mount(kernelId, sent)
  await add(session, folder)
  expect(mountsOf(session)).toEqual([[folder.name], [folder.name]])

  agent.script.unmount_folder = ({ kernelId, folder: sent, force }) => {
    if (kernelId === second?.id && !force) throw new ScriptedError('folder_busy', 'busy')
    return agent.unmount(kernelId, sent)
  }
  expect(await refusal(take(session, folder))).toMatchObject({ code: 'folder_busy' })
  expect(mountsOf(session)).toEqual([[folder.name], [folder.name]])
  expect(await places(session)).toEqual([[`/home/work/${folder.name}`, undefined]])
  await take(session, folder, true)
  expect([mountsOf(session), await places(session)]).toEqual([[[], []], []])
})

test('an answer that is lost, a crash and a restore leave records that the next report sets right', async () => {
  const [first, second, third] = [await make(), await make(), await make()]
  const session = await running()
  const [kernel] = session.kernels
  if (!kernel) throw new Error('no kernel')
  agent.script.mount_folder = async ({ kernelId, folder }) => {
    agent.mount(kernelId, folder)
    await agent.disconnect()
    return {}
  }
  expect(await refusal(add(session, first))).toMatchObject({ code: 'agent_unreachable' })
  expect(await places(session)).toEqual([[`/home/work/${first.name}`, 'mount']])
  expect(await refusal(trash(first))).toMatchObject({ code: 'folder_in_use' })
  agent.script.mount_folder = ({ kernelId, folder }) => agent.mount(kernelId, folder)
  await agent.connect()
  await expect.poll(() => places(session)).toEqual([[`/home/work/${first.name}`, undefined]])

  // The mount is lost, and created again. A mount without a record is recorded, so that nobody deletes the folder.
  agent.unmount(kernel.id, first.id)
  agent.mount(kernel.id, { storage: marker, folder: second.id, path: 'found', readOnly: false })
  agent.report()
  await expect.poll(() => places(session)).toContainEqual(['/home/work/found', undefined])
  await expect.poll(() => mountsOf(session)).toEqual([['found', first.name]])
  expect(await refusal(trash(second))).toMatchObject({ code: 'folder_in_use' })

  // The manager stops between the request and the answer.
  agent.script.unmount_folder = () => new Promise(() => undefined)
  agent.script.mount_folder = () => new Promise(() => undefined)
  const taking = take(session, second).catch(() => undefined)
  await expect.poll(() => places(session)).toContainEqual(['/home/work/found', 'unmount'])
  // Requests of a session are served one after the other: an earlier one that gets no answer would keep this one from being recorded.
  const adding = add(session, third).catch(() => undefined)
  agent.script.unmount_folder = ({ kernelId, folder }) => agent.unmount(kernelId, folder)
  agent.script.mount_folder = ({ kernelId, folder }) => agent.mount(kernelId, folder)
  await cluster.restart()
  await Promise.all([taking, adding])
  await agent.connect()
  await expect.poll(() => places(session)).not.toContainEqual(['/home/work/found', 'unmount'])
  expect((await places(session)).map(([path]) => path)).not.toContain('/home/work/found')
  expect((await trash(second)).status).toBe('trashed')
})

test('a folder that all sessions use is not added to a session that others use', async () => {
  const dotted = await make('.local')
  const member = await cluster.addUser('member@localhost')
  const { user } = await member.me()
  const group = await cluster.api.createGroup({ body: { name: 'together' } })
  for (const { id } of [user, (await cluster.api.me()).user])
    await cluster.api.addGroupMember({ params: { id: group.id, userId: id } })
  const session = await running({ group: 'together' })
  const share = (permission: 'use' | 'view') =>
    cluster.api.shareSession({ params: { id: session.id }, body: { email: 'member@localhost', permission } })
  await share('use')
  expect(await refusal(add(session, dotted))).toMatchObject({ code: 'session_share_refused' })
  // Programs that the member left continue to run, whatever happens to the share.
  await share('view')
  expect(await refusal(add(session, dotted))).toMatchObject({ code: 'session_share_refused' })
  await cluster.api.unshareSession({ params: { id: session.id, userId: user.id } })
  expect(await refusal(add(session, dotted))).toMatchObject({ code: 'session_share_refused' })
  const seen = await running({ group: 'together' })
  await cluster.api.shareSession({
    params: { id: seen.id },
    body: { email: 'member@localhost', permission: 'view' },
  })
  await add(seen, dotted)
  const used = { params: { id: seen.id }, body: { email: 'member@localhost', permission: 'use' } } as const
  expect(await refusal(cluster.api.shareSession(used))).toMatchObject({ code: 'session_share_refused' })
  expect(await refusal(add(seen, await make(), {}, member))).toMatchObject({ code: 'forbidden' })
})

test('a folder that a session of several people mounts gets no name with a dot, nor is such a session shared', async () => {
  const member = await cluster.addUser('writes@localhost')
  const { user } = await member.me()
  const group = await cluster.api.createGroup({ body: { name: 'writers' } })
  for (const { id } of [user, (await cluster.api.me()).user])
    await cluster.api.addGroupMember({ params: { id: group.id, userId: id } })
  const folder = await make('plain')
  const session = await running({ group: 'writers', folders: [{ folder: folder.id }] })
  const share = (permission: 'use' | 'view') =>
    cluster.api.shareSession({ params: { id: session.id }, body: { email: 'writes@localhost', permission } })
  const rename = (name: string) => cluster.api.updateFolder({ params: { id: folder.id }, body: { name } })
  await share('use')
  // Others can write to it now, and each new session of the owner would mount it where programs search.
  expect(await refusal(rename('.ipython'))).toMatchObject({
    code: 'folder_shared',
    detail: { cause: 'folder_dot_used_by_others' },
  })
  await rename('plainer')
  await share('view')
  expect(await refusal(rename('.ipython'))).toMatchObject({ code: 'folder_shared' })
  await cluster.api.deleteSession({ params: { id: session.id } })
  await cluster.reach(session.id, 'TERMINATED')
  // Programs that others left in the home run in the next session that takes over the home.
  const next = await cluster.api.restartSession({ params: { id: session.id } })
  expect(await refusal(rename('.ipython'))).toMatchObject({ code: 'folder_shared' })
  await cluster.api.deleteSession({ params: { id: next.id } })
  // At a moment at which it may or may not have started.
  const end = async () => (await cluster.api.getSession({ params: { id: next.id } })).status
  await expect.poll(end).toMatch(/^(CANCELLED|TERMINATED)$/)
  expect((await rename('.ipython')).name).toBe('.ipython')
})

test('a folder that a session of somebody else still mounts gets no name with a dot, also once its member is removed', async () => {
  const member = await cluster.addUser('stays@localhost')
  const { user } = await member.me()
  const folder = await make('handed')
  const invited = { params: { id: folder.id }, body: { email: 'stays@localhost', permission: 'rw' } } as const
  const { id } = await cluster.api.inviteToFolder(invited)
  await member.acceptFolderInvitation({ params: { id } })
  const session = await running({ name: 'private-name', folders: [{ folder: folder.id }] }, member)
  await cluster.api.deleteFolderMember({ params: { id: folder.id, userId: user.id } })
  const rename = () => cluster.api.updateFolder({ params: { id: folder.id }, body: { name: '.handed' } })
  // A running session keeps its mount, and each new session of the owner would run files written there.
  const refused = await refusal(rename())
  expect(refused).toMatchObject({ code: 'folder_shared', detail: { cause: 'folder_dot_mounted_by_others' } })
  expect(JSON.stringify(refused)).not.toContain('private-name')
  await member.deleteSession({ params: { id: session.id } })
  await expect.poll(async () => (await member.getSession({ params: { id: session.id } })).status).toBe('TERMINATED')
  expect((await rename()).name).toBe('.handed')
  await trash(folder)
})

test('started again with the home that others used, a session takes no folder with a dot', async () => {
  const [dotted, plain] = [await make('.again'), await make()]
  const member = await cluster.addUser('left@localhost')
  const { user } = await member.me()
  const group = await cluster.api.createGroup({ body: { name: 'again' } })
  for (const { id } of [user, (await cluster.api.me()).user])
    await cluster.api.addGroupMember({ params: { id: group.id, userId: id } })
  const session = await running({ group: 'again' })
  const share = { params: { id: session.id }, body: { email: 'left@localhost', permission: 'use' } } as const
  await cluster.api.shareSession(share)
  await cluster.api.deleteSession({ params: { id: session.id } })
  await cluster.reach(session.id, 'TERMINATED')
  const again = (...folders: string[]) =>
    cluster.api.restartSession({
      params: { id: session.id },
      body: { folders: folders.map(folder => ({ folder, path: 'elsewhere' })) },
    })
  const refused = { code: 'session_share_refused', detail: { cause: 'session_used_by_others' } }
  expect(await refusal(again('.again'))).toMatchObject(refused)
  // An id also identifies it.
  expect(await refusal(again(dotted.id))).toMatchObject(refused)
  expect((await again(plain.id)).folders).toMatchObject([{ folderId: plain.id }])
  await trash(dotted)
})

test('visitors of a published app are others: such a session gets no folder with a dot, also once the link has ended', async () => {
  const [dotted, plain] = [await make('.visited'), await make('visited')]
  await cluster.api.updateSettings({ body: { publishApps: true } })
  const session = await running({ folders: [{ folder: plain.id }] })
  const published = await cluster.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: {} })
  const rename = () => cluster.api.updateFolder({ params: { id: plain.id }, body: { name: '.other' } })
  expect(await refusal(add(session, dotted))).toMatchObject({ code: 'session_share_refused' })
  expect(await refusal(rename())).toMatchObject({ code: 'folder_shared' })
  // Programs that visitors left continue to run.
  await cluster.api.unpublishApp({ params: { publishedId: published.id } })
  expect(await refusal(add(session, dotted))).toMatchObject({ code: 'session_share_refused' })
  await cluster.api.deleteSession({ params: { id: session.id } })
  await cluster.reach(session.id, 'TERMINATED')
  // A session that had the folder before keeps it, also after a restart.
  const before = await running({ folders: [{ folder: dotted.id }] })
  await cluster.api.publishApp({ params: { id: before.id, app: 'jupyter' }, body: {} })
  await cluster.api.deleteSession({ params: { id: before.id } })
  await cluster.reach(before.id, 'TERMINATED')
  const next = await cluster.api.restartSession({ params: { id: before.id } })
  expect(next.folders).toMatchObject([{ folderId: dotted.id }])
  await cluster.api.deleteSession({ params: { id: next.id } })
})

test('an addition that waits for its turn goes by the rights and names of then', async () => {
  const other = await cluster.addUser('lends@localhost')
  const [lowered, withdrawn] = [await make(undefined, other), await make(undefined, other)]
  for (const { id } of [lowered, withdrawn]) {
    const body = { email: 'admin@localhost', permission: 'rw' } as const
    const invitation = await other.inviteToFolder({ params: { id }, body })
    await cluster.api.acceptFolderInvitation({ params: { id: invitation.id } })
  }
  const renamed = await make('becomes')
  const session = await running()
  // The member's programs ran in it, so no folder with a leading dot can be added.
  await cluster.api.updateSettings({ body: { publishApps: true } })
  await cluster.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: {} })
  const { promise: go, resolve: release } = Promise.withResolvers<undefined>()
  agent.script.mount_folder = async ({ kernelId, folder }) => {
    await go
    return agent.mount(kernelId, folder)
  }
  const first = add(session, await make())
  await expect.poll(() => agent.requests('mount_folder')).toHaveLength(1)
  const waiting = [lowered, withdrawn, renamed].map(folder => add(session, folder).catch((error: unknown) => error))
  // Each has read the state of its time once a later request has been answered.
  for (let read = 0; read < 20; read++) await get(session)
  const userId = session.ownerId
  await other.updateFolderMember({ params: { id: lowered.id, userId }, body: { permission: 'ro' } })
  await other.deleteFolderMember({ params: { id: withdrawn.id, userId } })
  await cluster.api.updateFolder({ params: { id: renamed.id }, body: { name: '.becomes' } })
  release(undefined)
  await first
  const [, ...refused] = await Promise.all(waiting)
  expect(refused).toMatchObject([{ code: 'folder_not_found' }, { code: 'session_share_refused' }])
  const mounted = (await get(session)).folders.find(({ folderId }) => folderId === lowered.id)
  expect(mounted).toMatchObject({ readOnly: true })
  expect((await get(session)).folders).toHaveLength(2)
})

test('berth session mount and unmount', async () => {
  await using cli = await createCli()
  await cli.signIn(cluster.url)
  const folder = await make()
  const { name } = await running()
  const mounted = await cli.run(['session', 'mount', name, `${folder.name}:in/data:ro`])
  expect(mounted).toMatchObject({ code: 0, out: `${folder.name}  /home/work/in/data  read-only\n` })
  agent.script.unmount_folder = ({ kernelId, folder: sent, force }) => {
    if (!force) throw new ScriptedError('folder_busy', 'Programs use it.')
    return agent.unmount(kernelId, sent)
  }
  expect(await cli.run(['session', 'unmount', name, folder.name])).toMatchObject({ code: 1 })
  expect(await cli.run(['session', 'unmount', name, folder.name.toUpperCase(), '--force'])).toMatchObject({ code: 0 })
  expect(await cli.run(['session', 'unmount', name, folder.name])).toMatchObject({ code: 4 })
})
