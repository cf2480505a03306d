import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Folder, type Session } from '#manager/contract'
import { BUSYBOX_IMAGE } from '../fixtures/docker.ts'
import { noGluster, type SharedFileSystem, startGluster } from '../fixtures/gluster.ts'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'

const run = promisify(execFile)
const HOSTS = ['lab-one', 'lab-two'] as const
const SMALL = { cpu: '0.1', mem: '64m' }

if (noGluster !== undefined) console.warn(`NOT TESTED: folders on a shared file system: ${noGluster}`)

/** Two hosts and the manager mount one GlusterFS, each by a client of its own. */
describe.skipIf(noGluster !== undefined)('folders on a shared file system', () => {
  const stack = new AsyncDisposableStack()
  let share: SharedFileSystem<(typeof HOSTS)[number] | 'manager'>
  let lab: Lab
  let one: LabHost
  let folder: Folder

  beforeAll(async () => {
    share = stack.use(await startGluster('manager', ...HOSTS))
    const storage = new Map([['local', share.mounts.manager.path]])
    const environments = Object.fromEntries(
      HOSTS.map(name => [name, { BERTH_STORAGE: `local=${share.mounts[name].path}` }]),
    )
    lab = stack.use(await startLab({ hosts: HOSTS, storage, environments }))
    ;[one] = lab.hosts as readonly [LabHost]
    folder = await lab.api.createFolder({ body: { name: 'shared' } })
  })
  afterAll(() => stack.disposeAsync())

  async function launch(withFolder = true): Promise<Session> {
    const folders = withFolder ? [{ folder: folder.id }] : []
    const { items } = await lab.api.createSession({ body: { image: BUSYBOX_IMAGE, resources: SMALL, folders } })
    const [session] = items
    if (!session) throw new Error('no session')
    return session
  }
  const show = ({ id }: Session) => lab.api.getSession({ params: { id } })
  async function reach(session: Session, status: Session['status']): Promise<Session> {
    await expect.poll(async () => (await show(session)).status).toBe(status)
    return show(session)
  }
  const hostOf = ({ kernels }: Session) => kernels[0]?.agentName
  const end = async (session: Session) => {
    await lab.api.deleteSession({ params: { id: session.id } })
    await reach(session, 'TERMINATED')
  }
  /** Runs a shell line in the session. @throws if it fails */
  async function inSession({ kernels }: Session, line: string): Promise<string> {
    const host = lab.hosts.find(({ agentId }) => agentId === kernels[0]?.agentId)
    if (!host) throw new Error('no host')
    return host.engine.docker('exec', kernels[0]?.containerId ?? '', 'sh', '-c', line)
  }
  async function onBoth(): Promise<[Session, Session]> {
    const sessions = [await launch(), await launch()]
    const running = await Promise.all(sessions.map(session => reach(session, 'RUNNING')))
    expect(running.map(hostOf).toSorted()).toEqual([...HOSTS])
    return running as [Session, Session]
  }

  test('two sessions on two hosts see one folder: files, locks, and a file that is renamed while it is open', async () => {
    const [first, second] = await onBoth()
    await inSession(first, 'echo from-first > ~/shared/note; chmod 640 ~/shared/note')
    expect(await inSession(second, 'cat ~/shared/note; stat -c "%a %u" ~/shared/note; id -u')).toMatch(
      /^from-first\n640 (\d+)\n\1$/,
    )
    // The image has no program for locks, so they are taken through the mounts of the two hosts.
    const at = (host: (typeof HOSTS)[number], name: string) => join(share.mounts[host].path, 'folders', folder.id, name)
    const lock = (host: (typeof HOSTS)[number], line: string) =>
      run('flock', ['-n', at(host, 'lock'), 'sh', '-c', line, at(host, '')])
    const held = lock('lab-one', 'cd "$0"; touch held; until [ -e enough ]; do sleep 0.1; done')
    await expect.poll(() => inSession(second, 'ls ~/shared')).toContain('held')
    await expect(lock('lab-two', 'true')).rejects.toThrow()
    await inSession(second, 'touch ~/shared/enough')
    await held
    await expect.poll(() => lock('lab-two', 'echo mine').catch(() => undefined)).toMatchObject({ stdout: 'mine\n' })

    const read = inSession(
      first,
      'cd ~/shared; exec 3< note; touch open; until [ -e renamed ]; do sleep 0.1; done; cat <&3',
    )
    await expect.poll(() => inSession(second, 'ls ~/shared')).toContain('open')
    await inSession(second, 'cd ~/shared; mv note other-name; echo new > note; touch renamed')
    expect(await read).toBe('from-first')
    await expect.poll(() => inSession(first, 'cat ~/shared/note')).toBe('new')
    // The manager reads the same files by its own mount.
    const { items } = await lab.api.listFiles({ params: { id: folder.id }, query: {} })
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['note', 'other-name']))
    await end(first)
    await end(second)
  })

  test('SQLite with its usual journal is locked across hosts, and loses nothing of what both write', () => {
    const path = (host: (typeof HOSTS)[number]) => join(share.mounts[host].path, 'folders', folder.id, 'notes.db')
    using there = new DatabaseSync(path('lab-one'))
    there.exec('create table notes (text)')
    using here = new DatabaseSync(path('lab-two'))
    there.exec("begin immediate; insert into notes values ('there')")
    expect(() => here.exec('begin immediate')).toThrow(/locked/)
    there.exec('commit')
    for (const [index, database] of Array.from({ length: 20 }, () => [there, here])
      .flat()
      .entries())
      database.exec(`begin immediate; insert into notes values ('${index}'); commit`)
    expect(here.prepare('select count(*) as count from notes').get()).toEqual({ count: 41 })
    expect(there.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })

  test('a host whose mount hangs takes no session that needs it, and goes on with everything else', async () => {
    share.mounts['lab-one'].hang()
    const problem = async () => (await lab.api.getAgent({ params: { id: one.agentId } })).problemBy
    await expect.poll(problem).toMatchObject({ cause: 'storage_away_on_host', values: { storage: 'local' } })
    const withFolder = await reach(await launch(), 'RUNNING')
    expect(hostOf(withFolder)).toBe('lab-two')
    const without = await Promise.all([launch(false), launch(false)])
    const running = await Promise.all(without.map(session => reach(session, 'RUNNING')))
    expect(running.map(hostOf)).toContain('lab-one')
    expect((await lab.api.getAgent({ params: { id: one.agentId } })).status).toBe('CONNECTED')
    share.mounts['lab-one'].goOn()
    await expect.poll(problem).toBeUndefined()
    for (const session of [withFolder, ...running]) await end(session)
  })

  test('a session waits with its reason while no host has the mount, and starts when one has it again', async () => {
    for (const name of HOSTS) await share.mounts[name].lose()
    const problems = async () => (await lab.api.listAgents()).items.map(({ problemBy }) => problemBy?.cause)
    await expect.poll(problems).toEqual(['storage_away_on_host', 'storage_away_on_host'])
    const session = await launch()
    await expect.poll(async () => (await show(session)).reason.code).toBe('storage_nowhere')
    // Nothing is written in the empty directory below the mount.
    expect((await run('ls', ['-A', share.mounts['lab-two'].path])).stdout).toBe('')
    await share.mounts['lab-two'].mountAgain()
    expect(hostOf(await reach(session, 'RUNNING'))).toBe('lab-two')
    expect(await inSession(await show(session), 'cat ~/shared/note')).toBe('new')
    await end(session)
    await share.mounts['lab-one'].mountAgain()
    await expect.poll(problems).toEqual([undefined, undefined])
  })
})
