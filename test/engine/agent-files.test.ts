import { access, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KernelId } from '#manager/contract'
import { type AgentHome, aKernelSpec, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** The home of a session that continues with the files of an ended one. */
const stack = new AsyncDisposableStack()
let manager: FakeManager
let home: AgentHome

beforeAll(async () => {
  await busyboxImage()
  manager = stack.use(await startFakeManager())
  stack.defer(() => removeByManager(manager.managerId))
  home = stack.use(await createAgentHome())
  const agent = stack.use(await spawnAgent(home, { BERTH_MANAGER_URL: manager.url, BERTH_JOIN: manager.join() }))
  await agent.firstLine
})
afterAll(() => stack.disposeAsync())

const create = (spec = aKernelSpec()) => manager.request('create_kernel', { spec, startWithinMs: 60_000 })
const destroy = (kernelId: KernelId) => manager.request('destroy_kernel', { kernelId, graceMs: 0 })
const homeOf = (kernelId: KernelId, ...rest: string[]) => join(home.data, 'agent', 'scratch', kernelId, ...rest)
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

test('a restarted session has the files, with new keys; a failed start returns them, and they are taken once', async () => {
  const old = aKernelSpec()
  const { ssh } = await create(old)
  await writeFile(homeOf(old.kernelId, 'notes.txt'), 'day one\n')
  const { uid } = await stat(homeOf(old.kernelId))
  await destroy(old.kernelId)

  const broken = { ...aKernelSpec(), filesOf: old.kernelId, image: { reference: 'berth/nowhere:1', digest: '' } }
  await expect(create(broken)).rejects.toThrow()
  expect(await isThere(homeOf(broken.kernelId))).toBe(false)
  expect(await readFile(homeOf(old.kernelId, 'notes.txt'), 'utf8')).toBe('day one\n')

  const next = { ...aKernelSpec(), filesOf: old.kernelId }
  const { containerId, ssh: own } = await create(next)
  expect(own.publicKey).not.toBe(ssh.publicKey)
  expect(await readFile(homeOf(next.kernelId, 'id_container'), 'utf8')).toBe(own.privateKey)
  expect((await stat(homeOf(next.kernelId))).uid).toBe(uid)
  expect(await inContainer(containerId, 'cat', '/home/work/notes.txt')).toContain('day one')
  expect(await isThere(homeOf(old.kernelId))).toBe(false)

  const late = { ...aKernelSpec(), filesOf: old.kernelId }
  await expect(create(late)).rejects.toMatchObject({ code: 'files_gone' })
  expect((await readdir(homeOf(next.kernelId))).toSorted()).toContain('notes.txt')
})

async function inContainer(id: string, ...command: string[]): Promise<string> {
  const exec = await docker.getContainer(id).exec({ Cmd: command, AttachStdout: true, Tty: true })
  const stream = await exec.start({ Tty: true })
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString('utf8')
}
