import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { join } from 'node:path'
import { extract, pack } from 'tar-stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, execIn, madeContainer, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

/** Accounts and architectures of images, on a real engine. */
let manager: FakeManager
let home: AgentHome
let agent: AgentProcess
const images: string[] = []

beforeAll(async () => {
  await busyboxImage()
  manager = await startFakeManager()
  home = await createAgentHome()
  agent = await spawnAgent(home, { BERTH_JOIN: manager.join(), BERTH_AGENT_EMULATED: 'riscv64' })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  for (const image of images) await docker.getImage(image).remove({ force: true })
  await home[Symbol.asyncDispose]()
})

type Files = Readonly<Record<string, string | { readonly linkTo: string }>>

/** busybox with these files added. */
async function imageWith(files: Files, changes = 'CMD ["sh"]'): Promise<{ reference: string; digest: string }> {
  await using container = await madeContainer({ Image: BUSYBOX_IMAGE, Cmd: ['none'] })
  const archive = pack()
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === 'string') archive.entry({ name }, content)
    else archive.entry({ name, type: 'symlink', linkname: content.linkTo })
  }
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  await container.putArchive(Buffer.concat(chunks), { path: '/' })
  const repo = `berth-test/accounts-${crypto.randomUUID().slice(0, 8)}`
  const { Id } = (await container.commit({ repo, tag: '1', changes })) as { Id: string }
  images.push(`${repo}:1`)
  return { reference: `${repo}:1`, digest: Id }
}

/** Loads a copy of an image with another architecture in its configuration. */
async function loadAs(name: string, { reference }: { reference: string }, architecture: string): Promise<void> {
  const files = new Map<string, Buffer>()
  for await (const entry of (await docker.getImage(reference).get()).pipe(extract())) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    if (entry.header.type === 'file') files.set(entry.header.name, Buffer.concat(chunks))
  }
  const [listed] = JSON.parse(String(files.get('manifest.json'))) as [{ Config: string; Layers: string[] }]
  const config = JSON.parse(String(files.get(listed.Config))) as object
  const archive = pack()
  archive.entry({ name: 'config.json' }, JSON.stringify({ ...config, architecture }))
  for (const layer of listed.Layers) archive.entry({ name: layer }, files.get(layer) ?? '')
  const { Layers } = listed
  archive.entry({ name: 'manifest.json' }, JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers }]))
  archive.finalize()
  const stream: NodeJS.ReadableStream = await docker.loadImage(archive as unknown as NodeJS.ReadableStream)
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, error => (error ? reject(error) : resolve()))
  })
  images.push(name)
}

/** The output of `script` in a session of this image. */
async function inSession(image: { reference: string; digest: string }, script: string): Promise<string> {
  const spec = aKernelSpec({ image })
  const { containerId } = await manager.request('create_kernel', { spec, startWithinMs: 60_000 })
  const { stdout } = await execIn(containerId, 'sh', '-c', script)
  await manager.request('destroy_kernel', { kernelId: spec.kernelId, graceMs: 0 })
  return stdout
}

const logged = (text: string) => async () =>
  (await readFile(join(home.data, 'agent.log'), 'utf8')).split(text).length - 1
const readers = async () =>
  (await docker.listContainers({ all: true })).filter(({ Names }) =>
    Names.some(name => name.includes('berth-accounts')),
  )

test('a session knows the accounts of its image, and is itself work, whatever the image says', async () => {
  const image = await imageWith(
    {
      'etc/passwd': [
        'root:x:0:0:root:/root:/bin/bash',
        'www-data:$6$secret:33:33:www-data:/var/www:/usr/sbin/nologin',
        'work:x:1000:1000::/home/other:/bin/false',
        'toor:x:0:0::/:/bin/sh',
        '',
      ].join('\n'),
      'etc/group': 'root:x:0:\nwww-data:x:33:work\nwork:x:1000:\n',
      'srv/page': 'hello',
    },
    'VOLUME ["/srv/data"]',
  )
  const text = await inSession(
    image,
    'id www-data; id -un; id -gn; id; ls -ln /srv/page; cat /etc/passwd; echo x >> /etc/passwd || echo closed',
  )
  expect(text).toMatch(/^uid=33\(www-data\) gid=33\(www-data\)/)
  expect(text).toMatch(/\nwork\nwork\nuid=\d+\(work\) gid=\d+\(work\)( groups=\d+\(work\))?\n/)
  expect(text).not.toMatch(/secret|toor|other/)
  expect(text).toContain('\nclosed\n')
  // In this image, the uid of this host's sessions belongs to another account.
  const uid = /uid=(\d+)\(work\)/.exec(text)?.[1] ?? ''
  const clash = await imageWith({ 'etc/passwd': `clash:x:${uid}:1::/:/bin/sh\nada:x:7:8::/:/bin/sh\n` })
  expect(await inSession(clash, 'id -un; id -u ada; id -u clash 2>&1')).toBe('work\n7\nid: unknown user clash\n')
  await expect.poll(readers).toEqual([])
})

test('lists behind links count, and what leads nowhere or is hostile leaves a session with its own accounts', async () => {
  const accounts = 'id -u ada; id -un'
  // A loop, or a link into /proc, is refused by the engine itself when it mounts the session's list there.
  const ada = 'ada:x:7:8::/:/bin/sh\n'
  expect(
    await inSession(await imageWith({ 'etc/passwd': { linkTo: '/usr/lib/passwd' }, 'usr/lib/passwd': ada }), accounts),
  ).toBe('7\nwork\n')
  expect(await inSession(await imageWith({ 'etc/passwd': { linkTo: '../../../usr/p' }, 'usr/p': ada }), accounts)).toBe(
    '7\nwork\n',
  )
  const own = 'work\n'
  expect(await inSession(await imageWith({ 'etc/group': 'g:x:8:\n' }), accounts)).toBe(own)
  expect(await inSession(await imageWith({ 'etc/passwd': { linkTo: '/no/where' } }), accounts)).toBe(own)
  const fault = logged('accounts of an image cannot be read')
  expect(await fault()).toBe(0)
  const huge = await imageWith({ 'etc/passwd': ada.repeat(50_000) })
  expect(await inSession(huge, accounts)).toBe(own)
  expect(await inSession(huge, accounts)).toBe(own)
  expect(await fault()).toBe(1)
  await expect.poll(readers).toEqual([])
})

test('the agent reports for which architecture an image is, and for which ones its engine runs images', async () => {
  const own = arch() === 'x64' ? 'amd64' : 'arm64'
  const other = own === 'amd64' ? 'arm64' : 'amd64'
  const reference = `berth-test/other-${crypto.randomUUID().slice(0, 8)}:1`
  await loadAs(reference, await imageWith({ 'srv/file': 'x' }), other)
  const architectureOf = (name: string) =>
    manager.report?.images?.find(({ references }) => references.includes(name))?.architecture
  await expect.poll(() => architectureOf(reference)).toBe(other)
  expect(architectureOf(BUSYBOX_IMAGE)).toBe(own)
  expect(manager.report?.engine.architectures?.[0]).toBe(own)
  expect(manager.report?.engine.architectures).toContain('riscv64')
})
