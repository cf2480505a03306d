import { expect, test } from 'vitest'
import { collectGpuLimits, withGpuLimits } from './gpu-limit-flags.ts'

const parsed = (...texts: string[]) =>
  texts.reduce<ReturnType<typeof collectGpuLimits>>((all, text) => collectGpuLimits(text, all), [])

test('limits by model are added to those that were there, changed and ended', () => {
  const before = [
    { model: 'H100', gpus: '2' },
    { model: 'A100 80GB', gpus: '4' },
  ]
  expect(withGpuLimits(before, parsed('h100=1.5', 'T4=0'))).toEqual([
    { model: 'A100 80GB', gpus: '4' },
    { model: 'h100', gpus: '1.5' },
    { model: 'T4', gpus: '0' },
  ])
  expect(withGpuLimits(before, parsed('A100-80GB=unlimited'))).toEqual([{ model: 'H100', gpus: '2' }])
  expect(withGpuLimits(before, parsed('unlimited', 'L4=1'))).toEqual([{ model: 'L4', gpus: '1' }])
})

test.each(['H100', '=2', 'H100=', 'H100=two', 'H100=0.333', '---=1', 'H100=-1'])(
  '%s is refused with what to write',
  text => {
    expect(() => parsed(text)).toThrow('such as H100=2')
  },
)
