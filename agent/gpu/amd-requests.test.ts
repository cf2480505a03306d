import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { NO_GPUS } from '../docker/gpu-request.ts'
import { type AmdRequestsDeps, createAmdRequests } from './amd-requests.ts'
import { type AmdDevice } from './amd-sysfs.ts'

const [A, B] = ['AMD-1f9de0957d137942', 'AMD-0000:c4:00.0']
const found = new Map<string, AmdDevice>([
  [A, { bus: '0000:05:00.0', memBytes: 1, render: 'renderD128', kfd: '41880' }],
  [B, { bus: '0000:c4:00.0', memBytes: 1, render: 'renderD129', kfd: '26967' }],
])

let directory: string
/** FAKE of `GET /info`. */
let info: object
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-amd-'))
  info = {}
  await mkdir(join(directory, 'dri'))
  // Character devices that everybody may use: one without a node needs root. Which groups are added is a test of an engine.
  for (const name of ['kfd', 'dri/renderD128', 'dri/renderD129']) await symlink('/dev/null', join(directory, name))
})
afterEach(() => rm(directory, { recursive: true }))

const requests = (deps: Partial<AmdRequestsDeps> = {}) =>
  createAmdRequests({
    engine: { calls: { info: () => Promise.resolve(info) } } as unknown as EngineClient,
    isEngineHere: () => true,
    finder: { deviceOf: uuid => found.get(uuid) },
    devices: directory,
    ...deps,
  })
const file = (name: string) => ({ onHost: join(directory, name), inContainer: `/dev/${name}` })
const node = (path: string) => ({ path, hostPath: path })
const specOf = (...devices: (readonly [name: string, ...renders: string[]])[]) =>
  JSON.stringify({
    cdiVersion: '0.6.0',
    kind: 'amd.com/gpu',
    devices: devices.map(([name, ...renders]) => ({
      name,
      containerEdits: {
        deviceNodes: [
          ...renders.flatMap(render => [node(`/dev/dri/card${render.at(-1)}`), node(`/dev/dri/${render}`)]),
          node('/dev/kfd'),
        ],
      },
    })),
  })

test('without CDI a GPU is its file and that of the driver, once for several GPUs', async () => {
  const { of } = requests()
  expect(await of([])).toEqual(NO_GPUS)
  expect(await of([A, B])).toMatchObject({
    uuids: [A, B],
    deviceRequests: [],
    files: [file('kfd'), file('dri/renderD128'), file('dri/renderD129')],
    groups: [],
    advice: { ROCR_VISIBLE_DEVICES: '0,1', HIP_VISIBLE_DEVICES: '0,1' },
    environment: { AMD_VISIBLE_DEVICES: 'none', NVIDIA_VISIBLE_DEVICES: 'void' },
    unsure: [],
  })
})

test('by CDI the device is found by its file, because numbers may have moved', async () => {
  // The second GPU has the number 0: cards were moved since the file was made.
  await writeFile(
    join(directory, 'amd.json'),
    specOf(['0', 'renderD129'], ['1', 'renderD128'], ['all', 'renderD129', 'renderD128']),
  )
  info = { CDISpecDirs: [directory, '/nonexistent'] }
  const { of } = requests()
  expect(await of([A])).toMatchObject({ deviceRequests: [{ Driver: 'cdi', DeviceIDs: ['amd.com/gpu=1'] }], files: [] })
  expect(await of([A, B])).toMatchObject({ deviceRequests: [{ DeviceIDs: ['amd.com/gpu=1', 'amd.com/gpu=0'] }] })
  // An engine that lists its devices did not take this one up.
  info = { CDISpecDirs: [directory], DiscoveredDevices: [{ ID: 'amd.com/gpu=0' }] }
  expect(await of([A])).toMatchObject({ deviceRequests: [], files: [file('kfd'), file('dri/renderD128')] })
  expect(await of([B])).toMatchObject({ deviceRequests: [{ DeviceIDs: ['amd.com/gpu=0'] }] })
})

test('a GPU whose files are not there, and every GPU of an engine elsewhere, has a problem', async () => {
  await rm(join(directory, 'dri/renderD129'))
  const missing = because('amd_file_missing', { path: '/dev/dri/renderD129' })
  expect(await requests().problems([A, B])).toEqual(new Map([[B, missing]]))
  await expect(requests().of([A, B])).rejects.toMatchObject({ code: 'kernel_create_failed', detail: missing })
  await expect(requests().of(['AMD-gone'])).rejects.toMatchObject({ detail: because('amd_gpu_gone') })
  const elsewhere = requests({ isEngineHere: () => false })
  expect(await elsewhere.problems([A])).toEqual(new Map([[A, because('amd_engine_elsewhere')]]))
})
