import { expect, test } from 'vitest'
import { type Device } from '#manager/contract'
import { howPartsHold, modelsOf, sharedOf } from './devices.ts'

const GiB = 2 ** 30
const device = (change: Partial<Device>): Device => ({
  ...{ uuid: 'GPU-0', model: 'Tesla T4', slot: 'cuda.shares', memBytes: 15 * GiB, mode: 'shared' },
  ...{ isolation: 'accounted', isolationReason: null, problem: null, plugin: 'nvidia' },
  ...change,
})

test('shares are of healthy GPUs that are shared, each model once, the largest first', () => {
  const shared = sharedOf([
    device({}),
    device({ uuid: 'GPU-1' }),
    device({ model: 'NVIDIA H100', memBytes: 80 * GiB }),
    device({ model: 'Lost', problem: 'GPU is lost' }),
    device({ model: 'Whole', mode: 'whole' }),
    device({ model: 'Silent', memBytes: 0 }),
  ])
  expect(modelsOf(shared)).toEqual([
    { model: 'NVIDIA H100', memBytes: 80 * GiB },
    { model: 'Tesla T4', memBytes: 15 * GiB },
  ])
})

test('shares hold only if they do on every GPU', () => {
  expect(howPartsHold([])).toBeNull()
  expect(howPartsHold([device({ isolation: 'enforced' })])).toBe('enforced')
  expect(howPartsHold([device({ isolation: 'enforced' }), device({})])).toBe('accounted')
  const guarded = device({ isolation: 'guarded' })
  expect(howPartsHold([device({ isolation: 'enforced' }), guarded])).toBe('guarded')
  expect(howPartsHold([guarded, device({})])).toBe('accounted')
})
