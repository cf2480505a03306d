import { expect, test } from 'vitest'
import { type GpuShare, shareEnvironment } from './share-environment.ts'

const H100: GpuShare = { uuid: 'GPU-5f1c', hundredths: 25, memBytes: 81_559 * 2 ** 20 }
const T4: GpuShare = { uuid: 'GPU-b2a3', hundredths: 50, memBytes: 15_360 * 2 ** 20 }
const nothingSet = () => false

test('a session knows its share, and frameworks are told what they read', () => {
  expect(shareEnvironment([H100], nothingSet)).toEqual({
    BERTH_GPU_SHARE: '0.25',
    BERTH_GPU_MEMORY_MIB: '20389',
    PYTORCH_ALLOC_CONF: 'per_process_memory_fraction:0.25',
    CUPY_GPU_MEMORY_LIMIT: '25%',
    XLA_PYTHON_CLIENT_MEM_FRACTION: '0.225',
    TF_FORCE_GPU_ALLOW_GROWTH: 'true',
  })
})

test('small shares have no rounding errors of binary fractions', () => {
  for (let hundredths = 1; hundredths < 100; hundredths++) {
    const { CUPY_GPU_MEMORY_LIMIT, PYTORCH_ALLOC_CONF, XLA_PYTHON_CLIENT_MEM_FRACTION } = shareEnvironment(
      [{ ...H100, hundredths }],
      nothingSet,
    )
    expect(CUPY_GPU_MEMORY_LIMIT).toBe(`${hundredths}%`)
    expect(PYTORCH_ALLOC_CONF).toMatch(/^per_process_memory_fraction:0\.\d{1,2}$/)
    expect(XLA_PYTHON_CLIENT_MEM_FRACTION).toMatch(/^0\.\d{1,3}$/)
  }
})

test('several GPUs are named, and frameworks, which have one setting for all, get the smallest share', () => {
  expect(shareEnvironment([{ ...H100, hundredths: 100 }, T4], nothingSet)).toMatchObject({
    BERTH_GPU_SHARE: 'GPU-5f1c=1,GPU-b2a3=0.5',
    BERTH_GPU_MEMORY_MIB: 'GPU-5f1c=81559,GPU-b2a3=7680',
    CUPY_GPU_MEMORY_LIMIT: '50%',
  })
})

test.each([
  ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'],
  ['PYTORCH_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'],
  ['CUPY_GPU_MEMORY_LIMIT', 'CUPY_GPU_MEMORY_LIMIT'],
  ['XLA_CLIENT_MEM_FRACTION', 'XLA_PYTHON_CLIENT_MEM_FRACTION'],
  ['XLA_PYTHON_CLIENT_PREALLOCATE', 'XLA_PYTHON_CLIENT_MEM_FRACTION'],
  ['TF_FORCE_GPU_ALLOW_GROWTH', 'TF_FORCE_GPU_ALLOW_GROWTH'],
])('a user who sets %s decides, and Berth does not set %s', (set, unset) => {
  const all = Object.keys(shareEnvironment([H100], nothingSet))
  const names = Object.keys(shareEnvironment([H100], name => name === set))
  expect(names).toEqual(all.filter(name => name !== unset))
})

test('a session without shares, or with the whole of a shared GPU, has no settings of frameworks', () => {
  expect(shareEnvironment([], nothingSet)).toEqual({})
  expect(shareEnvironment([{ ...H100, hundredths: 100 }], nothingSet)).toEqual({
    BERTH_GPU_SHARE: '1',
    BERTH_GPU_MEMORY_MIB: '81559',
  })
})

test('memory that the driver does not tell is not made up', () => {
  expect(shareEnvironment([{ ...H100, memBytes: 0 }], nothingSet)).not.toHaveProperty('BERTH_GPU_MEMORY_MIB')
})
