import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEngineClient } from '../../agent/docker/engine-client.ts'
import { createToolbox } from '../../agent/toolbox/toolbox.ts'
import { docker, madeContainer, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'

/** An image of its own with the content of the toolbox, so that its volume is not shared. */
let image: string
let volumes: Set<string>
beforeEach(async () => {
  image = `berth-test/toolbox:${randomUUID()}`
  volumes = new Set()
  await using container = await madeContainer({ Image: TOOLBOX_IMAGE, Cmd: ['none'] })
  const [repo, tag] = image.split(':')
  await container.commit({ repo, tag, changes: `LABEL berth.test=${randomUUID()}` })
})
afterEach(async () => {
  for (const { Id } of await fillers()) await docker.getContainer(Id).remove({ force: true })
  for (const name of volumes) await docker.getVolume(name).remove()
  await docker.getImage(image).remove()
})

const log = { info: () => undefined }
const open = (archive?: string) =>
  createToolbox({ engine: createEngineClient(process.env.DOCKER_HOST), image, archive, onChange: () => undefined, log })
const volumeName = async () =>
  `berth-toolbox-${(await docker.getImage(image).inspect()).Id.replace('sha256:', '').slice(0, 12)}`
const fillers = async () =>
  docker.listContainers({ all: true, filters: { label: [`berth.toolbox-volume=${await volumeName()}`] } })

async function fill(toolbox = open()): Promise<string> {
  const name = await toolbox.volume()
  volumes.add(name)
  return name
}

/** Output of a toolbox program in a container with the volume at /volume. */
async function inVolume(volume: string, script: string): Promise<string> {
  const container = await docker.createContainer({
    Image: image,
    // With a terminal the output comes as it is.
    Tty: true,
    Cmd: ['/opt/berth/bin/busybox', 'sh', '-c', `PATH=/opt/berth/applets; ${script}`],
    HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: volume, Target: '/volume' }] },
  })
  try {
    await container.start()
    await container.wait()
    // YAML would read a bare number as a number.
    return String(await container.logs({ stdout: true, stderr: true })).replaceAll('\r', '')
  } finally {
    await container.remove()
  }
}
/** Differences between the files in the volume and in the image. */
const difference = (volume: string) => inVolume(volume, 'diff -rq /opt/berth /volume')
const MARK_ONLY = 'Only in /volume: .complete\n'

test('agents that fill one volume at the same time make one whole copy, and leave nothing behind', async () => {
  const names = await Promise.all(Array.from({ length: 4 }, () => fill()))
  expect(new Set(names).size).toBe(1)
  expect(await difference(names[0] ?? '')).toBe(MARK_ONLY)
  await expect.poll(fillers).toEqual([])
})

test('a copy that was cut short is not used, and the next agent repairs it', async () => {
  const first = fill().catch((error: unknown) => error)
  volumes.add(await volumeName())
  await expect.poll(fillers, { interval: 5 }).toHaveLength(1)
  const [filler] = await fillers()
  await docker
    .getContainer(filler?.Id ?? '')
    .kill({ signal: 'SIGKILL' })
    .catch(() => undefined)
  await first
  const name = await fill()
  expect(await difference(name)).toBe(MARK_ONLY)
})

test('a volume without its mark is filled without touching files in use', async () => {
  const name = await fill()
  const inode = () => inVolume(name, 'stat -c %i /volume/bin/busybox')
  const before = await inode()
  await inVolume(name, 'rm /volume/.complete; mkdir /volume/.copy-old; mv /volume/etc /volume/.copy-old/')
  await fill()
  expect(await inode()).toBe(before)
  expect(await difference(name)).toBe(MARK_ONLY)
})

test('an image that was removed is loaded from the archive of the agent', async () => {
  await using folder = await temporaryDirectory()
  const archive = join(folder.path, 'toolbox.tar')
  await pipeline(await docker.getImage(image).get(), createWriteStream(archive))
  await docker.getImage(image).remove()
  await expect(open(join(folder.path, 'absent.tar')).volume()).rejects.toMatchObject({ code: 'toolbox_missing' })
  expect(await difference(await fill(open(archive)))).toBe(MARK_ONLY)
})
