import { describe, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { gpuNamesOf, type GpuHandout, handOut, needsIndexes } from './gpu-handout.ts'

const A = { uuid: 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11', index: '0' }
const B = { uuid: 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02', index: '1' }
const MIG = { uuid: 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f', index: '1:0' }
const HOOK: GpuHandout = { by: 'hook' }
const cdi = (isByIndex: boolean, ...names: string[]): GpuHandout => ({
  by: 'cdi',
  ids: names.map(name => `nvidia.com/gpu=${name}`),
  isByIndex,
})
const none = (cause: 'gpu_not_in_cdi' | 'engine_without_gpus'): GpuHandout => ({ by: 'none', because: because(cause) })

describe('the way to ask for GPUs', () => {
  test.each<[string, string[], boolean, (typeof A)[], GpuHandout]>([
    ['by UUID, whatever else is there', ['0', A.uuid], true, [A], cdi(false, A.uuid)],
    [
      'by UUID for several, MIG instances too',
      [A.uuid, B.uuid, MIG.uuid],
      false,
      [A, MIG],
      cdi(false, A.uuid, MIG.uuid),
    ],
    ['by index where no UUID is listed', ['0', '1', '1:0'], true, [A, MIG], cdi(true, '0', '1:0')],
    ['by index with a type', ['gpu0', 'mig1:0'], false, [A, MIG], cdi(true, 'gpu0', 'mig1:0')],
    ['the hook if one GPU of several is not listed', [A.uuid], true, [A, B], HOOK],
    ['the hook if nothing is listed', [], true, [A], HOOK],
    ['none if a GPU is not listed: the list is older than the GPU', [A.uuid], false, [B], none('gpu_not_in_cdi')],
    ['none by an index in a list of UUIDs', ['0', '1', A.uuid], false, [B], none('gpu_not_in_cdi')],
    ['none if the index is not listed', ['0'], false, [B], none('gpu_not_in_cdi')],
    ['none if the engine has neither', [], false, [A], none('engine_without_gpus')],
  ])('is %s', (_, names, hook, asked, expected) => {
    expect(handOut({ names, hook }, asked)).toEqual(expected)
  })

  test('is none by index for a GPU whose index is unknown', () => {
    expect(handOut({ names: ['0'], hook: false }, [{ uuid: A.uuid }])).toEqual(none('gpu_not_in_cdi'))
  })
})

test('only devices of NVIDIA’s kind count, and `all` is no device', () => {
  const ids = [
    'nvidia.com/gpu=0',
    'nvidia.com/gpu=all',
    'management.nvidia.com/gpu=0',
    'amd.com/gpu=0',
    'nvidia.com/gpu',
  ]
  expect(gpuNamesOf(ids)).toEqual(['0'])
})

test('indexes are looked up only for lists without UUIDs', () => {
  expect(['0', A.uuid].map(name => needsIndexes({ names: [name], hook: true }))).toEqual([true, false])
  expect(needsIndexes({ names: [], hook: true })).toBe(false)
})
