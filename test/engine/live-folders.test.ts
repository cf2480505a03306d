import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KernelFolder } from '#agent/contract'
import { FolderId, type KernelId } from '#manager/contract'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** Folders that are added to running sessions and taken out of them (ADR 57). */
const run = promisify(execFile)
const STORAGE = '0f7c29de-6f4f-4c8e-9a55-3f7f1f2f9b10'
const stack = new AsyncDisposableStack()
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
const environment = () => ({ BERTH_MANAGER_URL: manager.url, BERTH_AGENT_SCRATCH_RETENTION_S: '0' })

beforeAll(async () => {
  await busyboxImage()
  manager = stack.use(await startFakeManager())
  stack.defer(() => removeByManager(manager.managerId))
  home = stack.use(await createAgentHome())
  await mkdir(join(home.data, 'storage/folders'), { recursive: true })
  await writeFile(join(home.data, 'storage/.berth-storage'), STORAGE)
  agent = await spawnAgent(home, { ...environment(), BERTH_JOIN: manager.join() })
  stack.defer(() => agent[Symbol.asyncDispose]())
  await agent.firstLine
})
afterAll(() => stack.disposeAsync())

let made = 0
/** A folder with one file in it. */
async function aFolder(path: string, more: Partial<KernelFolder> = {}): Promise<KernelFolder & { directory: string }> {
  const folder = FolderId.parse(`01990000-0000-7000-8000-${String(++made).padStart(12, '0')}`)
  const directory = join(home.data, 'storage/folders', folder)
  await mkdir(join(directory, 'empty'), { recursive: true, mode: 0o700 })
  await writeFile(join(directory, 'kept'), 'kept\n')
  return { storage: STORAGE, folder, path, readOnly: false, directory, ...more }
}
const start = async (changes: Parameters<typeof aKernelSpec>[0] = {}) => {
  const spec = aKernelSpec(changes)
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  return { kernelId: spec.kernelId, containerId }
}
const end = (kernelId: KernelId) => manager.request('destroy_kernel', { kernelId, graceMs: 0 })
const add = (kernelId: KernelId, { directory: _, ...folder }: KernelFolder & { directory: string }) =>
  manager.request('mount_folder', { kernelId, folder })
const take = (kernelId: KernelId, { folder }: KernelFolder, force = false) =>
  manager.request('unmount_folder', { kernelId, folder, force })
const inside = async ({ containerId }: { containerId: string }, line: string) => {
  const { stdout } = await run('docker', ['exec', containerId, 'sh', '-c', `${line} 2>&1 || true`])
  return stdout.trim()
}
const homeOf = (kernelId: KernelId, ...rest: string[]) => join(home.data, 'agent/scratch', kernelId, ...rest)
const places = async () =>
  (await readdir(join(home.data, 'agent/mounts'))).filter(name => !['staging', 'README'].includes(name))
const mounted = async () =>
  (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter(line => line.includes(home.data)).length
const folders = (kernelId: KernelId) => manager.kernel(kernelId)?.mounts?.folders.map(({ path }) => path)
/** Nothing is mounted any more, and the folder is complete. */
async function isWhole({ directory }: { directory: string }): Promise<void> {
  expect(await readFile(join(directory, 'kept'), 'utf8')).toBe('kept\n')
  expect((await stat(join(directory, 'empty'))).isDirectory()).toBe(true)
}

test('an added folder is there at once in both directions, read-only ones take nothing, and both can be taken out', async () => {
  const session = await start()
  await expect.poll(() => manager.kernel(session.kernelId)?.mounts).toEqual({ closed: null, folders: [] })
  const data = await aFolder('deep/data')
  const fixed = await aFolder('fixed', { readOnly: true })
  await add(session.kernelId, data)
  await add(session.kernelId, data)
  await add(session.kernelId, fixed)
  expect(await inside(session, 'cat ~/deep/data/kept ~/fixed/kept; echo new > ~/deep/data/new; touch ~/fixed/x')).toBe(
    `kept\nkept\ntouch: /home/work/fixed/x: Read-only file system`,
  )
  expect(await readFile(join(data.directory, 'new'), 'utf8')).toBe('new\n')
  await writeFile(join(data.directory, 'from-outside'), 'seen')
  expect(await inside(session, 'cat ~/deep/data/from-outside')).toBe('seen')
  await expect.poll(() => folders(session.kernelId)).toEqual(['deep/data', 'fixed'])
  // The README tells anybody who is about to remove the directory that the folders contain the users' own files.
  expect(await readFile(join(home.data, 'agent/mounts/README'), 'utf8')).toContain('Do not remove this directory')

  // The directory of the folders belongs to root; set-user-id programs and devices have no effect in them.
  expect(await inside(session, 'touch /run/berth-folders/x')).toContain('Read-only file system')
  const flags = await inside(session, `grep /run/berth-folders/ /proc/self/mountinfo | cut -d' ' -f6`)
  expect(flags.split('\n').every(options => options.includes('nosuid') && options.includes('nodev'))).toBe(true)
  // The user of the session created the link's directory and may change everything in it.
  expect(await inside(session, 'stat -c %U ~/deep; touch ~/deep/beside && echo made')).toMatch(/^\S+\nmade$/)

  await take(session.kernelId, data)
  await take(session.kernelId, data)
  expect(await inside(session, 'ls ~/deep; ls /run/berth-folders')).toBe(`beside\n${fixed.folder}`)
  await end(session.kernelId)
  await isWhole(data)
  await isWhole(fixed)
  expect([await places(), await mounted()]).toEqual([[], 0])
})

test('nothing in the home is replaced or followed', async () => {
  const session = await start()
  await inside(session, 'touch ~/file; mkdir ~/full; ln -s /etc ~/out')
  for (const path of ['file', 'full', 'out', 'file/below', 'out/below']) {
    await expect(add(session.kernelId, await aFolder(path))).rejects.toMatchObject({ code: 'folder_path_taken' })
  }
  expect(await inside(session, 'ls /run/berth-folders')).toBe('')
  // If a session replaces the link, its replacement is kept.
  const data = await aFolder('data')
  await add(session.kernelId, data)
  await inside(session, 'rm ~/data && mkdir ~/data && touch ~/data/own')
  await take(session.kernelId, data)
  expect(await readdir(homeOf(session.kernelId, 'data'))).toEqual(['own'])
  await isWhole(data)
  const away = { ...(await aFolder('away')), storage: '0f7c29de-6f4f-4c8e-9a55-3f7f1f2f9b11' }
  await expect(add(session.kernelId, away)).rejects.toMatchObject({ code: 'storage_away' })
  await end(session.kernelId)
})

test('a folder in use stays, unless it is forced out: programs then keep only the files that they have open', async () => {
  const session = await start()
  const data = await aFolder('data')
  await add(session.kernelId, data)
  await run('docker', ['exec', '-d', session.containerId, 'sh', '-c', 'cd ~/data && exec sleep 600'])
  await expect.poll(() => inside(session, 'ls -l /proc/*/cwd')).toContain(data.folder)
  await expect(take(session.kernelId, data)).rejects.toMatchObject({ code: 'folder_busy' })
  expect(await inside(session, 'cat ~/data/kept')).toBe('kept')
  await take(session.kernelId, data, true)
  expect(await inside(session, 'ls /run/berth-folders; ls -d ~/data')).toContain('No such file')
  await isWhole(data)
  await end(session.kernelId)
})

test('an agent that is killed finds its mounts again; files outlive session, home and a lost record', async () => {
  const session = await start()
  const [data, more] = [await aFolder('data'), await aFolder('more')]
  await add(session.kernelId, data)
  agent.kill('SIGKILL')
  await agent.exited
  agent = await spawnAgent(home, environment())
  await agent.firstLine
  await expect.poll(() => folders(session.kernelId)).toEqual(['data'])
  await add(session.kernelId, more)
  expect(await inside(session, 'cat ~/data/kept ~/more/kept')).toBe('kept\nkept')

  // The agent is killed again, and meanwhile somebody removes the container.
  agent.kill('SIGKILL')
  await agent.exited
  await docker.getContainer(session.containerId).remove({ force: true })
  expect(await mounted()).toBe(3)
  agent = await spawnAgent(home, environment())
  await agent.firstLine
  await expect.poll(places).toEqual([])
  expect(await mounted()).toBe(0)
  // The home of the session goes too, with a retention of zero, at the next look.
  agent.kill('SIGKILL')
  await agent.exited
  agent = await spawnAgent(home, environment())
  await agent.firstLine
  await expect.poll(() => readdir(join(home.data, 'agent/scratch'))).toEqual([])
  await isWhole(data)
  await isWhole(more)
})

test('a session that continues with the files mounts the folder at the same place, or finds no link to it', async () => {
  const [data, other] = [await aFolder('data'), await aFolder('other')]
  const first = await start()
  await add(first.kernelId, data)
  await add(first.kernelId, other)
  expect(await readlink(homeOf(first.kernelId, 'data'))).toBe(`/run/berth-folders/${data.folder}`)
  await manager.request('destroy_kernel', { kernelId: first.kernelId, graceMs: 0, keepFilesMs: 60_000 })
  // Same as for an agent of which only the home is left.
  await symlink(`/run/berth-folders/${data.folder}`, homeOf(first.kernelId, 'data'))
  const { directory: _, ...mount } = data
  const next = await start({ filesOf: first.kernelId, folders: [mount] })
  expect(await inside(next, 'cat ~/data/kept; ls ~')).toBe('kept\ndata\nid_container')
  await end(next.kernelId)
  await isWhole(data)
  await isWhole(other)
})

test('under an agent in a mount namespace of its own, sessions start without a place for folders, and say why', async () => {
  agent.kill('SIGKILL')
  await agent.exited
  agent = await spawnAgent(home, environment(), ['unshare', '--mount'])
  await agent.firstLine
  const session = await start()
  await expect.poll(() => manager.kernel(session.kernelId)?.mounts?.closedBy?.cause).toBe('folders_agent_apart')
  await expect(add(session.kernelId, await aFolder('data'))).rejects.toMatchObject({ code: 'session_folders_fixed' })
  expect(await inside(session, 'ls /run/berth-folders')).toContain('No such file')
  await end(session.kernelId)

  // With the engine again, it serves new sessions; one without a directory for folders is recognised.
  const older = await start()
  agent.kill('SIGKILL')
  await agent.exited
  agent = await spawnAgent(home, environment())
  await agent.firstLine
  await expect.poll(() => manager.kernel(older.kernelId)?.mounts?.closedBy?.cause).toBe('folders_container_older')
  await end(older.kernelId)
})
