import { describe, expect, test } from 'vitest'
import { type GpuStock } from '#manager/contract'
import { freeOf, gpuOptions, stockOf } from './gpu-options.ts'

const GIB = 2 ** 30
const stock = (model: string, gib: number, more: Partial<GpuStock> = {}): GpuStock => ({
  model,
  memBytes: gib * GIB,
  mode: 'whole',
  total: 4,
  free: '1',
  ...more,
})
const H100 = stock('NVIDIA H100 80GB HBM3', 79.6)
const T4 = stock('Tesla T4', 15, { total: 2, free: '2' })
const SLICE = stock('NVIDIA H100 80GB HBM3 3g.40gb', 39.5, { mode: 'mig', total: 1, free: '0' })
const SHARED = stock('Tesla T4', 15, { mode: 'shared', total: 2, free: '1.3' })

describe('the choices of a GPU', () => {
  test('any, each model with what is free of it, and the least memory', () => {
    const options = gpuOptions([H100, SLICE, T4], null)
    expect(options.map(({ title, subtitle }) => `${title}: ${subtitle}`)).toEqual([
      'Any GPU: 3 of 7 free',
      'NVIDIA H100 80GB HBM3: 80 GiB · 1 of 4 free',
      'NVIDIA H100 80GB HBM3, MIG 3g.40gb: 40 GiB · 0 of 1 free',
      'Tesla T4: 15 GiB · 2 of 2 free',
      'Any with at least 40 GiB: 1 of 5 free',
      'Any with at least 80 GiB: 80 GiB · 1 of 4 free',
    ])
    expect(options[2]?.choice).toEqual({ model: 'NVIDIA H100 80GB HBM3', migProfile: '3g.40gb' })
  })

  test('the limit on a model is told where all accepted GPUs count towards it', () => {
    const limits = [
      { model: 'H100', policy: 'small', limit: '2', held: '1.57', left: '0.43' },
      { model: 'H100 80GB', policy: 'large', limit: '8', held: '1.57', left: '6.43' },
    ]
    expect(gpuOptions([H100, SLICE, T4], null, limits).map(({ subtitle }) => subtitle)).toEqual([
      '3 of 7 free',
      '80 GiB · 1 of 4 free · your limit leaves 0.43 of 2',
      '40 GiB · 0 of 1 free · your limit leaves 0.43 of 2',
      '15 GiB · 2 of 2 free',
      '1 of 5 free · your limit leaves 0.43 of 2',
      '80 GiB · 1 of 4 free · your limit leaves 0.43 of 2',
    ])
    expect(gpuOptions([H100], null, limits)[0]?.subtitle).toContain('your limit leaves 0.43 of 2')
  })

  test('a choice that no host meets any more stays, and says so', () => {
    expect(gpuOptions([T4], { model: 'B200' }).at(-1)).toEqual({
      choice: { model: 'B200' },
      title: 'B200',
      subtitle: 'No host has one now',
    })
  })

  test('shares are counted in GPUs, beside those that are given out whole', () => {
    expect(stockOf([H100, SHARED], 'cuda.shares')).toEqual([SHARED])
    expect(gpuOptions([SHARED], null)[0]?.subtitle).toBe('15 GiB · 1.3 of 2 free')
    expect(freeOf({ model: 'T4' }, [H100, SHARED, T4], 'cuda.shares')).toBe(130)
    expect(freeOf({ model: 'T4' }, [H100, SHARED, T4], 'cuda.device')).toBe(2)
  })
})
