import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { NO_GPUS } from '../docker/gpu-request.ts'
import { createNvidiaRequests, nvidiaRequest, type NvidiaRequestsDeps } from './nvidia-requests.ts'

const A = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const B = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const INDEXES = new Map([
  [A, '0'],
  [B, '1'],
])

let directory: string
/** FAKE of `GET /info`. */
let info: object
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-cdi-'))
  info = { Runtimes: { runc: {} } }
})
afterEach(() => rm(directory, { recursive: true }))

const requests = (deps: Partial<NvidiaRequestsDeps> = {}) =>
  createNvidiaRequests({
    engine: { calls: { info: () => Promise.resolve(info) } } as unknown as EngineClient,
    isEngineHere: () => true,
    indexes: () => Promise.resolve(INDEXES),
    path: directory,
    ...deps,
  })
const lists = (...names: string[]) => ({
  DiscoveredDevices: names.map(name => ({ Source: 'cdi', ID: `nvidia.com/gpu=${name}` })),
})
const byCdi = (isByIndex: boolean, name: string) =>
  nvidiaRequest({ by: 'cdi', ids: [`nvidia.com/gpu=${name}`], isByIndex }, [A])
const byHook = nvidiaRequest({ by: 'hook' }, [A])

test('each request is decided by what the engine says at that moment', async () => {
  const { of } = requests()
  info = lists('all', '0', A)
  expect(await of([A])).toEqual(byCdi(false, A))
  info = lists('0', '1')
  expect(await of([A])).toEqual(byCdi(true, '0'))
  info = { Runtimes: { runc: {}, nvidia: {} } }
  expect(await of([A])).toEqual(byHook)
  info = {}
  await expect(of([A])).rejects.toMatchObject({ code: 'kernel_create_failed', detail: because('engine_without_gpus') })
  expect(await of([])).toEqual(NO_GPUS)
})

test('NVIDIA’s hook counts without a registered runtime', async () => {
  await writeFile(join(directory, 'nvidia-container-runtime-hook'), '#!/bin/sh\n')
  await expect(requests().of([A])).rejects.toThrow()
  await chmod(join(directory, 'nvidia-container-runtime-hook'), 0o755)
  expect(await requests().of([A])).toEqual(byHook)
})

test('an engine that uses CDI without a list is understood by its files, JSON and YAML, if it is on this host', async () => {
  await writeFile(
    join(directory, 'nvidia.yaml'),
    `cdiVersion: "0.6.0"\nkind: nvidia.com/gpu\ndevices:\n- name: all\n- name: ${A}\n`,
  )
  await writeFile(join(directory, 'b.json'), JSON.stringify({ kind: 'nvidia.com/gpu', devices: [{ name: B }] }))
  await writeFile(join(directory, 'other.json'), JSON.stringify({ kind: 'amd.com/gpu', devices: [{ name: 'GPU-1' }] }))
  await writeFile(join(directory, 'broken.yaml'), 'kind: [')
  info = { CDISpecDirs: [directory, '/nonexistent'] }
  expect(await requests().of([A])).toEqual(byCdi(false, A))
  expect(await requests().problems([A, B, 'GPU-1'])).toEqual(new Map([['GPU-1', because('gpu_not_in_cdi')]]))
  // The files belong to the engine, which has none of this host's.
  expect(await requests({ isEngineHere: () => false }).of([A])).toEqual(byHook)
  // CDI is off.
  info = { CDISpecDirs: [] }
  expect(await requests().problems([A])).toEqual(new Map([[A, because('engine_without_gpus')]]))
})
