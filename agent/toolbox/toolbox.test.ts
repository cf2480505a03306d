import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { type EngineClient } from '../docker/engine-client.ts'
import { createToolbox, isToolbox } from './toolbox.ts'

const ours = { 'berth.recipe': '766799d3720e', 'berth.title': 'Toolbox' }

test.each<[string, string, Record<string, string>, boolean]>([
  ['the toolbox', 'berth/toolbox:latest', ours, true],
  ['the toolbox under its fingerprint', 'berth/toolbox:766799d3720e', ours, true],
  ['the toolbox in a registry', 'cr.example.org/berth/toolbox:3', ours, true],
  ['another version under this fingerprint', 'berth/toolbox:0123456789ab', ours, false],
  ['an image with the name alone', 'berth/toolbox:latest', {}, false],
  ['an image of another recipe', 'berth/toolbox:latest', { ...ours, 'berth.title': 'Session image' }, false],
])('%s', (_what, reference, labels, expected) => {
  expect(isToolbox(reference, labels)).toBe(expected)
})

/** An engine whose toolbox image can disappear, whose disk can be full, and whose volume is filled at once. */
function anEngine() {
  const it = { hasImage: true, isFull: false, loadError: undefined as string | undefined, isLoadedAsOther: false }
  const answer = (statusCode: number, message: string) =>
    Promise.reject(Object.assign(new Error(message), { statusCode, json: { message } }))
  let volumes = 0
  const calls = {
    getImage: () => ({
      inspect: () =>
        it.hasImage ? Promise.resolve({ Id: 'sha256:0123456789abcdef', Config: { Labels: ours } }) : answer(404, 'no'),
    }),
    getVolume: () => ({ inspect: () => (volumes > 0 ? Promise.resolve({ CreatedAt: '1' }) : answer(404, 'no')) }),
    listContainers: () => Promise.resolve([]),
    createVolume: () => (it.isFull ? answer(500, 'mkdir /x: no space left on device') : Promise.resolve(volumes++)),
    createContainer: () => Promise.resolve({ id: 'c', start: () => Promise.resolve() }),
  }
  const streams = {
    getContainer: () => ({ wait: () => Promise.resolve({ StatusCode: 0 }) }),
    async loadImage(archive: Readable) {
      await archive.toArray()
      it.hasImage = it.loadError === undefined && !it.isLoadedAsOther
      const told = it.loadError === undefined ? { stream: 'Loaded' } : { error: it.loadError }
      return Readable.from([`${JSON.stringify(told)}\n`])
    },
  }
  return { it, engine: { calls, streams } as unknown as EngineClient }
}

test('a missing toolbox is a problem of the host until it is there again, which is looked for without a session', async () => {
  const { it, engine } = anEngine()
  let told = 0
  const log = { info: () => undefined }
  const toolbox = createToolbox({ engine, image: 'berth/toolbox:latest', onChange: () => told++, log })
  await toolbox.check()
  it.isFull = true
  await expect(toolbox.volume()).rejects.toMatchObject({ code: 'disk_full', detail: { cause: 'docker_disk_full' } })
  expect([toolbox.problem, told]).toEqual([null, 0])
  it.hasImage = it.isFull = false
  await expect(toolbox.volume()).rejects.toMatchObject({ detail: { cause: 'host_without_toolbox' } })
  await toolbox.check()
  expect([toolbox.problem?.cause, told]).toEqual(['toolbox_image_missing', 1])
  it.hasImage = true
  await toolbox.check()
  expect([toolbox.problem, told]).toEqual([null, 2])
  expect(await toolbox.volume()).toBe('berth-toolbox-0123456789ab')
})

test('a toolbox with an archive is loaded whenever the engine lacks it', async () => {
  const { it, engine } = anEngine()
  const log = { info: () => undefined }
  const open = (archive: string) =>
    createToolbox({ engine, image: 'berth/toolbox:latest', archive, onChange: () => undefined, log })
  it.hasImage = false
  expect(await open(import.meta.filename).volume()).toBe('berth-toolbox-0123456789ab')
  it.hasImage = false
  it.loadError = 'invalid tar header'
  const broken = open(import.meta.filename)
  await expect(broken.volume()).rejects.toMatchObject({ code: 'toolbox_missing' })
  expect(broken.problem?.why).toContain('invalid tar header')
  it.loadError = undefined
  it.isLoadedAsOther = true
  const other = open(import.meta.filename)
  await expect(other.volume()).rejects.toMatchObject({ code: 'toolbox_missing' })
  expect(other.problem?.cause).toBe('toolbox_image_missing')
  const nowhere = open('/nowhere/toolbox.tar')
  await expect(nowhere.volume()).rejects.toMatchObject({ code: 'toolbox_missing' })
  expect(nowhere.problem?.why).toContain('/nowhere/toolbox.tar')
})
