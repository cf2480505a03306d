import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, isAppError, type Session, type SessionSpec } from '#manager/contract'
import { createCli, loginCommand } from '../../fixtures/cli.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { PYTHON, type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const OWNER = 'finn@localhost'
const ADMIN = 'admin@localhost'
const IMAGE = 'berth/python:3.13'

let cluster: SessionsCluster
let finn: ApiClient
let agent: ScriptedAgent
beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 500, sweepMs: 50 })
  finn = await cluster.addUser(OWNER)
})
beforeEach(async () => {
  await cluster.reset()
  const storage = join(cluster.source.dataDir, 'storage')
  agent = await cluster.join({ storage: [(await readFile(join(storage, '.berth-storage'), 'utf8')).trim()] })
})
afterAll(() => cluster[Symbol.asyncDispose]())

const specOf = (spec: Partial<SessionSpec>): SessionSpec => ({
  image: IMAGE,
  resources: {},
  environ: {},
  count: 1,
  resourceGroup: 'default',
  owner: OWNER,
  ...spec,
})
const created = ({ id }: Session) => {
  const request = agent.requests('create_kernel').find(({ spec }) => spec.sessionId === id)
  if (!request) throw new Error(`${id} was not created`)
  return request.spec
}

async function end({ id }: Session): Promise<Session> {
  await cluster.reach(id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id } })
  return cluster.reach(id, 'TERMINATED')
}

describe('folders', () => {
  /** The administrator's answers about a folder of this text: from a launch, and from a forecast. */
  async function answers(folder: string): Promise<unknown[]> {
    const spec = specOf({ folders: [{ folder }] })
    return Promise.all(
      [cluster.api.createSession({ body: spec }), cluster.api.whatIf({ body: spec })].map(async call => {
        const { code, detail } = await refusal(call)
        return JSON.parse(JSON.stringify({ code, detail }).replaceAll(folder, 'FOLDER')) as unknown
      }),
    )
  }

  test('a private folder of the owner is refused like one that does not exist, by name and by id, in any letter case', async () => {
    const diary = await finn.createFolder({ body: { name: 'diary' } })
    const trashed = await finn.createFolder({ body: { name: 'thrown' } })
    await finn.trashFolder({ params: { id: trashed.id } })
    await finn.createFolder({ body: { name: '.secrets' } })
    const unknown = await answers('no-such-folder')
    expect(unknown).toEqual([
      expect.objectContaining({ code: 'folder_not_found' }),
      expect.objectContaining({ code: 'folder_not_found' }),
    ])
    const texts = [
      'diary',
      'DIARY',
      `${OWNER}/diary`,
      '.secrets',
      'thrown',
      diary.id,
      diary.id.toUpperCase(),
      trashed.id,
    ]
    for (const text of [...texts, crypto.randomUUID()]) expect(await answers(text), text).toEqual(unknown)
    // Two paths of one folder, which overlap only if it exists.
    const twice = specOf({ folders: [{ folder: 'diary' }, { folder: 'Diary' }] })
    expect(await refusal(cluster.api.createSession({ body: twice }))).toMatchObject({ code: 'folder_not_found' })
  })

  test('a folder of the administrator does not stand in for one of the owner, whatever it is called', async () => {
    const private_ = await finn.createFolder({ body: { name: 'papers' } })
    await cluster.api.createFolder({ body: { name: 'papers' } })
    const decoy = await cluster.api.createFolder({ body: { name: 'decoy' } })
    const unknown = await answers('no-such-folder')
    for (const text of ['papers', private_.id, decoy.id]) expect(await answers(text), text).toEqual(unknown)
    // A decoy of the owner does not replace a folder of the administrator.
    await finn.createFolder({ body: { name: 'decoy' } })
    expect(await answers('decoy')).toEqual(unknown)
  })

  test('no folder gets a name that looks like an id: created, renamed, or copied', async () => {
    const folder = await finn.createFolder({ body: { name: 'plain' } })
    const name = crypto.randomUUID()
    const params = { id: folder.id }
    for (const text of [name, name.toUpperCase()]) {
      for (const call of [
        finn.createFolder({ body: { name: text } }),
        finn.updateFolder({ params, body: { name: text } }),
        finn.cloneFolder({ params, body: { name: text } }),
      ]) {
        expect(await refusal(call)).toMatchObject({ code: 'bad_request' })
      }
    }
  })

  test('a folder that both may mount is mounted with the lesser right, though the owner has a private one of that name', async () => {
    const { items: groups } = await cluster.api.listGroups()
    const group = groups.find(({ name, domain }) => name === 'default' && domain === 'default')
    const project = await cluster.api.createFolder({ body: { name: 'common', group: 'default', permission: 'ro' } })
    await finn.createFolder({ body: { name: 'common' } })
    const session = await cluster.launch({ owner: OWNER, folders: [{ folder: 'common' }] })
    expect(session).toMatchObject({ group: { id: group?.id }, folders: [{ folderId: project.id, readOnly: true }] })
    const shared = await finn.createFolder({ body: { name: 'both' } })
    const { id } = await finn.inviteToFolder({ params: { id: shared.id }, body: { email: ADMIN, permission: 'ro' } })
    await cluster.api.acceptFolderInvitation({ params: { id } })
    const both = await cluster.launch({ owner: OWNER, folders: [{ folder: 'both' }] })
    expect(both.folders).toMatchObject([{ folderId: shared.id, readOnly: true }])
  })
})

test('a session does not start for an administrator who manages its owner no more: the command is theirs', async () => {
  const password = 'Chosen-by-lead-3'
  const body = { email: 'lead@example.org', name: 'Lead', password, mustChangePassword: false } as const
  const lead = await cluster.api.createUser({ body: { ...body, role: 'domain_admin' } })
  const { token } = await apiOf(cluster.url).login({ body: { email: body.email, password, kind: 'token' } })
  await cluster.api.createFolder({ body: { name: 'of-both', group: 'default' } })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  const spec = specOf({ startupCommand: 'send of-both' })
  const bare = await cluster.launch(spec, apiOf(cluster.url, token ?? ''))
  const { id } = await cluster.launch({ ...spec, folders: [{ folder: 'of-both' }] }, apiOf(cluster.url, token ?? ''))
  const params = { id: lead.id }
  const waits = () => Promise.all([bare.id, id].map(async each => cluster.api.getSession({ params: { id: each } })))
  await cluster.api.updateUser({ params, body: { role: 'user' } })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: true } })
  const reason = { code: 'launcher_left', cause: 'launcher_left', values: { who: body.email } }
  const refused = { status: 'PENDING', reason, queuePosition: null }
  await expect.poll(waits).toMatchObject([refused, refused])
  await cluster.api.updateUser({ params, body: { role: 'domain_admin', active: false } })
  // Sessions requested later start before it.
  const later = await cluster.launch({}, finn)
  await cluster.reach(later.id, 'RUNNING')
  expect(await waits()).toMatchObject([refused, refused])
  await cluster.api.updateUser({ params, body: { active: true } })
  await cluster.reach(id, 'RUNNING')
  await cluster.reach(bare.id, 'RUNNING')
})

describe('dotfiles, start-up script and command', () => {
  beforeEach(async () => {
    await finn.putDotfile({ body: { path: '.netrc', content: 'password hunter2' } })
    await finn.setBootstrapScript({ body: { script: 'login hunter2' } })
  })
  const foreign: Partial<SessionSpec> = {
    owner: OWNER,
    startupCommand: 'cat ~/.netrc',
    environ: { BASH_ENV: '/tmp/x', TOKEN: 'of the admin' },
  }

  test('a session that an administrator launches has none of the dotfiles and says who launched it', async () => {
    const session = await cluster.launch({ ...foreign, count: 2, kind: 'batch' })
    expect(session).toMatchObject({ ownerEmail: OWNER, launchedBy: ADMIN })
    await cluster.reach(session.id, 'RUNNING')
    expect(created(session)).toMatchObject({ startupCommand: 'cat ~/.netrc', launchedBy: ADMIN })
    expect(JSON.stringify(agent.requests('create_kernel'))).not.toContain('hunter2')
    const own = await cluster.launch({}, finn)
    expect(own.launchedBy).toBeNull()
    await cluster.reach(own.id, 'RUNNING')
    expect(created(own).dotfiles).toHaveLength(1)
    expect(created(own)).not.toHaveProperty('launchedBy')
  })

  test('its owner is told of it, once, and nobody is told of an own one', async () => {
    const before = (await finn.listMessages()).items.length
    const session = await cluster.launch(foreign)
    await cluster.launch({}, finn)
    const { items } = await finn.listMessages()
    expect(items.slice(0, items.length - before)).toMatchObject([
      { about: 'session_launched', from: ADMIN, sessions: [{ id: session.id, name: session.name }] },
    ])
  })

  test('started again by its owner, it has the dotfiles, and neither command nor variables of the administrator', async () => {
    const old = await end(await cluster.launch(foreign))
    const next = await finn.restartSession({ params: { id: old.id } })
    expect(next).toMatchObject({ launchedBy: null, startupCommand: null, environNames: [] })
    await cluster.reach(next.id, 'RUNNING')
    expect(created(next)).toMatchObject({ startupCommand: null, environ: {}, bootstrapScript: 'login hunter2' })
    expect(created(next).dotfiles).toHaveLength(1)
  })

  test('the owner may take command and variables over', async () => {
    const old = await end(await cluster.launch(foreign))
    const next = await finn.restartSession({ params: { id: old.id }, body: { keepCommand: true } })
    expect(next).toMatchObject({ launchedBy: null, startupCommand: 'cat ~/.netrc' })
    expect((await finn.getSession({ params: { id: next.id } })).environ).toEqual(foreign.environ)
  })

  test('a batch session is started again with the command of the administrator only if the owner says so', async () => {
    const old = await end(await cluster.launch({ ...foreign, kind: 'batch' }))
    const params = { id: old.id }
    expect(await refusal(finn.restartSession({ params }))).toMatchObject({
      code: 'bad_request',
      detail: { cause: 'batch_command_of_other', values: { who: ADMIN } },
    })
    expect(await finn.restartSession({ params, body: { keepCommand: true } })).toMatchObject({ kind: 'batch' })
  })

  test('started again by its owner, it begins with an empty home: the command may have left a start-up file there', async () => {
    const old = await end(await cluster.launch(foreign))
    const next = await finn.restartSession({ params: { id: old.id }, body: { keepCommand: true } })
    await cluster.reach(next.id, 'RUNNING')
    expect(created(next)).not.toHaveProperty('filesOf')
    // The files can still be taken over once, if the owner confirms it.
    const again = await finn.restartSession({ params: { id: old.id }, body: { keepFiles: true } })
    await cluster.reach(again.id, 'RUNNING')
    expect(created(again)).toMatchObject({ filesOf: old.kernels[0]?.id, startupCommand: null })
    // An own session continues with its files, as always.
    const own = await end(await cluster.launch({}, finn))
    const ownAgain = await finn.restartSession({ params: { id: own.id } })
    await cluster.reach(ownAgain.id, 'RUNNING')
    expect(created(ownAgain)).toMatchObject({ filesOf: own.kernels[0]?.id })
    const live = await cluster.launch(foreign)
    expect(await refusal(finn.restartSession({ params: { id: live.id } }))).toMatchObject({ code: 'session_live' })
  })

  test('started again by its owner, it has folders at their names, wherever the administrator put them', async () => {
    // Python runs files from such a path, together with the owner's dotfiles and dot-folders.
    const place = '.ipython/profile_default/startup'
    const tools = await cluster.api.createFolder({ body: { name: 'tools', group: 'default' } })
    await finn.createSession({ body: { image: IMAGE, folders: [{ folder: 'tools', path: 'known' }] } })
    const folders = [{ folder: 'tools', path: place, readOnly: true }]
    const old = await end(await cluster.launch({ ...foreign, folders }))
    expect(old.folders).toMatchObject([{ folderId: tools.id, path: `/home/work/${place}` }])
    const params = { id: old.id }
    const mountsOf = ({ folders: mounts }: Session) => mounts.filter(({ folderId }) => folderId === tools.id)
    const next = await finn.restartSession({ params })
    expect(mountsOf(next)).toMatchObject([{ path: '/home/work/tools', readOnly: true }])
    // With the administrator's command, they are where the command expects them, and so are those that the owner adds.
    const again = await finn.restartSession({ params, body: { keepCommand: true } })
    expect(mountsOf(again)).toMatchObject([{ path: `/home/work/${place}` }])
    const chosen = await finn.restartSession({ params, body: { folders: [{ folder: 'tools', path: 'mine' }] } })
    expect(mountsOf(chosen)).toMatchObject([{ path: '/home/work/mine' }])
    await using cli = await createCli()
    expect(await cli.run(loginCommand(cluster.url, OWNER), 'Their-own-pass-1')).toMatchObject({ code: 0 })
    const { err, out } = await cli.run(['session', 'restart', old.id, '--json'])
    expect(out).not.toContain(place)
    expect(err).toContain('the places of its folders')
    // In an own session they keep their paths.
    const own = await end(await cluster.launch({ folders: [{ folder: 'tools', path: 'in/tools' }] }, finn))
    const ownAgain = await finn.restartSession({ params: { id: own.id } })
    expect(mountsOf(ownAgain)).toMatchObject([{ path: '/home/work/in/tools' }])
  })

  test('started again by its owner, it has own folders, and others only if the owner mounted them before or says so', async () => {
    const tools = await cluster.api.createFolder({ body: { name: 'of-project', group: 'default' } })
    const usual = await cluster.api.createFolder({ body: { name: 'usual', group: 'default' } })
    const shared = await finn.createFolder({ body: { name: 'shared-own' } })
    const { id } = await finn.inviteToFolder({ params: { id: shared.id }, body: { email: ADMIN, permission: 'ro' } })
    await cluster.api.acceptFolderInvitation({ params: { id } })
    await finn.createSession({ body: { image: IMAGE, folders: [{ folder: 'usual' }] } })
    const folders = ['of-project', 'usual', 'shared-own'].map(folder => ({ folder }))
    const old = await end(await cluster.launch({ ...foreign, folders }))
    const params = { id: old.id }
    const ids = ({ folders: mounts }: Session) =>
      mounts.filter(({ name }) => !name.startsWith('.')).map(({ folderId }) => folderId)
    expect(ids(old)).toEqual([tools.id, shared.id, usual.id])
    expect(ids(await finn.restartSession({ params }))).toEqual([shared.id, usual.id])
    // A deleted folder of the administrator does not keep the session from starting.
    const gone = await cluster.api.createFolder({ body: { name: 'gone', group: 'default' } })
    const last = await end(await cluster.launch({ ...foreign, folders: [{ folder: 'gone' }] }))
    await cluster.api.trashFolder({ params: { id: gone.id } })
    await cluster.api.deleteFolder({ params: { id: gone.id } })
    expect(ids(await finn.restartSession({ params: { id: last.id } }))).toEqual([])
    await using cli = await createCli()
    expect(await cli.run(loginCommand(cluster.url, OWNER), 'Their-own-pass-1')).toMatchObject({ code: 0 })
    const { err } = await cli.run(['session', 'restart', old.id])
    expect(err).toContain('the folders of-project: left out.')
    const more = await cli.run(['session', 'restart', old.id, '--folder', 'usual', '--json'])
    expect(more.out).not.toContain(tools.id)
    expect(ids(await finn.restartSession({ params, body: { keepCommand: true } }))).toEqual([
      ...[tools.id, shared.id, usual.id],
    ])
    const kept = await cli.run([
      'session',
      'restart',
      old.id,
      '--folder',
      'usual:more',
      '--without-folder',
      'usual',
      '--keep-command',
      '--json',
    ])
    expect(kept.out).toContain(tools.id)
  })

  test('an image that its owner never launched is a choice of the administrator, too', async () => {
    const reference = 'users/admin-00000000/trap:1'
    agent.images = [PYTHON, { ...PYTHON, id: `sha256:${'7'.repeat(64)}`, references: [reference] }]
    agent.report(true)
    const known = async () => (await finn.listImages()).items.map(image => image.reference)
    await expect.poll(known).toContain(reference)
    const old = await end(await cluster.launch({ owner: OWNER, image: reference }))
    const params = { id: old.id }
    const refused = {
      code: 'bad_request',
      detail: { cause: 'image_of_other', values: { who: ADMIN, image: reference } },
    }
    expect(await refusal(finn.restartSession({ params }))).toMatchObject(refused)
    expect(await refusal(finn.restartSession({ params, body: { folders: [] } }))).toMatchObject(refused)
    const kept = await finn.restartSession({ params, body: { keepCommand: true } })
    expect(kept).toMatchObject({ image: reference, launchedBy: null })
    // After the owner has launched it once, it is known.
    expect(await finn.restartSession({ params })).toMatchObject({ image: reference })
  })

  test('the command line says what is left out, and takes it over only if it is told to', async () => {
    await using cli = await createCli()
    expect(await cli.run(loginCommand(cluster.url, OWNER), 'Their-own-pass-1')).toMatchObject({ code: 0 })
    const old = await end(await cluster.launch(foreign))
    const { err } = await cli.run(['session', 'restart', old.id])
    expect(err).toContain('--keep-files')
    expect(err).toContain('--keep-command')
    const last = await cli.run(['session', 'restart', old.id, '--keep-files', '--keep-command'])
    expect(last.err).not.toContain('--keep-')
  })

  test('no dot-folder is added while it runs: the command of the administrator may still be at work', async () => {
    const folder = await finn.createFolder({ body: { name: '.keys' } })
    const plain = await finn.createFolder({ body: { name: 'added-plain' } })
    const session = await cluster.launch(foreign)
    await cluster.reach(session.id, 'RUNNING')
    const params = { id: session.id }
    await expect.poll(async () => (await finn.getSession({ params })).foldersFixed).toBeNull()
    for (const more of [{}, { path: 'harmless' }, { readOnly: true }]) {
      expect(await refusal(finn.addSessionFolder({ params, body: { folder: folder.id, ...more } }))).toMatchObject({
        code: 'session_folders_fixed',
        detail: { cause: 'dot_folder_in_launched', values: { name: '.keys', who: ADMIN } },
      })
    }
    expect(agent.requests('mount_folder')).toEqual([])
    expect((await finn.addSessionFolder({ params, body: { folder: plain.id } })).folders).toHaveLength(1)
    const own = await cluster.launch({ automount: false }, finn)
    await cluster.reach(own.id, 'RUNNING')
    await expect.poll(async () => (await finn.getSession({ params: { id: own.id } })).foldersFixed).toBeNull()
    await finn.addSessionFolder({ params: { id: own.id }, body: { folder: folder.id } })
    await cluster.api.deleteSession({ params: { id: own.id } })
    await cluster.reach(own.id, 'TERMINATED')
    await finn.trashFolder({ params: { id: folder.id } })
  })

  test('it stays without dotfiles when it starts on another host after a failed attempt', async () => {
    agent.script.create_kernel = () => Promise.reject(new ScriptedError('container_failed', 'no'))
    const session = await cluster.launch(foreign)
    await expect.poll(() => agent.requests('create_kernel').length).toBeGreaterThan(0)
    const other = await cluster.join({ name: 'other' })
    await cluster.reach(session.id, 'RUNNING')
    expect(other.requests('create_kernel')[0]?.spec).toMatchObject({ launchedBy: ADMIN })
    expect(JSON.stringify(other.requests('create_kernel'))).not.toContain('hunter2')
  })

  test('dot-folders of the owner are not in it, and are when the owner starts it again', async () => {
    await finn.createFolder({ body: { name: '.local' } }).catch(() => undefined)
    const old = await end(await cluster.launch(foreign))
    expect(old.folders).toEqual([])
    const next = await finn.restartSession({ params: { id: old.id } })
    expect(next.folders.map(({ name }) => name)).toContain('.local')
  })

  test('dot-folders that its home never had are left out when others used it and its files are kept, and the owner is told', async () => {
    // A retry of the test finds the objects of the previous attempt.
    const used = `used-${randomUUID()}`
    const email = `${used}@localhost`
    const member = await cluster.addUser(email)
    const group = await cluster.api.createGroup({ body: { name: used } })
    for (const api of [member, finn]) {
      const { user } = await api.me()
      await cluster.api.addGroupMember({ params: { id: group.id, userId: user.id } })
    }
    // An image that the owner has never launched would be refused first.
    await end(await cluster.launch({ automount: false }, finn))
    const session = await cluster.launch({ ...foreign, group: used })
    await cluster.reach(session.id, 'RUNNING')
    await finn.shareSession({ params: { id: session.id }, body: { email, permission: 'use' } })
    const params = { id: (await end(session)).id }
    const dotted = await finn.createFolder({ body: { name: `.${used}` } })
    const named = finn.restartSession({ params, body: { keepFiles: true, folders: [{ folder: dotted.id }] } })
    expect(await refusal(named)).toMatchObject({ code: 'session_share_refused' })
    await using cli = await createCli()
    expect(await cli.run(loginCommand(cluster.url, OWNER), 'Their-own-pass-1')).toMatchObject({ code: 0 })
    const { code, out, err } = await cli.run(['session', 'restart', params.id, '--keep-files', '--json'])
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining(dotted.name) as string })
    const { id } = JSON.parse(out) as Session
    expect(id).not.toBe(params.id)
    expect((await finn.getSession({ params: { id } })).folders).toEqual([])
  })

  test('an administrator reads log and command of a session that its owner launched only while the owner lets them', async () => {
    const lead = await cluster.addUser('reader@localhost', { role: 'domain_admin' })
    const { id } = await cluster.launch({ startupCommand: 'echo hunter2' }, finn)
    await cluster.reach(id, 'RUNNING')
    const params = { id }
    const seen = async (by: ApiClient) => {
      const { startupCommand, outputReadable, adminsMayRead } = await by.getSession({ params })
      const listed = (await by.listSessions({ query: { ids: id } })).items.map(one => one.startupCommand)
      const logs = [() => by.getSessionLogs({ params }), () => by.readSessionLog({ params })]
      const read = await Promise.all(
        logs.map(log =>
          log().then(
            ({ text }) => text,
            (error: unknown) => isAppError(error) && error.detail.cause,
          ),
        ),
      )
      return [startupCommand, outputReadable, adminsMayRead, ...listed, ...read]
    }
    const closed = [null, false, false, null, 'only_owner_reads_output', 'only_owner_reads_output']
    const open = (leave: boolean) => ['echo hunter2', true, leave, 'echo hunter2', 'live line\n', 'live line\n']
    for (const admin of [lead, cluster.api]) expect(await seen(admin)).toEqual(closed)
    expect(await seen(finn)).toEqual(open(false))
    const change = (by: ApiClient, adminsMayRead: boolean) => by.updateSession({ params, body: { adminsMayRead } })
    expect(await refusal(change(lead, true))).toMatchObject({ code: 'forbidden' })
    await change(finn, true)
    for (const admin of [lead, cluster.api, finn]) expect(await seen(admin)).toEqual(open(true))
    await change(finn, false)
    for (const admin of [lead, cluster.api]) expect(await seen(admin)).toEqual(closed)
    await cluster.api.deleteSession({ params })
    await cluster.reach(id, 'TERMINATED')
    expect(await seen(lead)).toEqual(closed)
  })

  test('an administrator who launched a session reads its log and command; others do not', async () => {
    const lead = await cluster.addUser('reader@localhost', { role: 'domain_admin' })
    const { id } = await cluster.launch({ owner: OWNER, startupCommand: 'make' })
    await cluster.reach(id, 'RUNNING')
    const params = { id }
    expect((await cluster.api.getSessionLogs({ params })).text).toBe('live line\n')
    expect((await finn.getSession({ params })).startupCommand).toBe('make')
    expect((await refusal(lead.getSessionLogs({ params }))).detail.cause).toBe('only_owner_reads_output')
    expect((await lead.getSession({ params })).startupCommand).toBe(null)
  })

  test('an administrator sees names of variables, not values; the owner sees both', async () => {
    const { id } = await cluster.launch({ environ: { TOKEN: 'hunter2' } }, finn)
    const params = { id }
    expect(await cluster.api.getSession({ params })).toMatchObject({ environ: {}, environNames: ['TOKEN'] })
    expect(await finn.getSession({ params })).toMatchObject({ environ: { TOKEN: 'hunter2' }, environNames: ['TOKEN'] })
  })
})
