import { describe, expect, test } from 'vitest'
import { type Preset } from '#manager/contract'
import { defaultForm, GIB, limitsOf, MIB } from './launch-form.ts'
import { isOffered, presetHindrance, presetShown, presetSize, presetWait, withPreset, type Room } from './presets.ts'

const preset = (change: Partial<Preset> = {}): Preset => ({
  name: 'large',
  slots: { cpu: '4', mem: '8g', 'cuda.device': '1' },
  gpu: null,
  shmem: '1g',
  fits: true,
  createdAt: '2026-11-01T09:00:00.000Z',
  version: 1,
  ...change,
})
const all = { cpu: 8000, mem: 16 * GIB, 'cuda.device': 2 }
const room: Room = {
  largest: all,
  free: all,
  left: {},
  sessionsLeft: null,
  partsHold: null,
  sharedGpus: [],
  gpus: [],
  gpuLimits: [],
}
const hindrance = (each: Preset, change: Partial<Room> = {}) =>
  presetHindrance(each, 'cuda.device', { ...room, ...change })

describe('a preset', () => {
  test('a preset shows its size', () => {
    expect(presetSize(preset())).toBe('4 CPU cores · 8 GiB RAM · 1 GPU')
  })

  test('a preset can be chosen if it fits, and else says what prevents it: limits before agents', () => {
    const tight = preset({ fits: false })
    expect(hindrance(preset())).toBe('')
    expect(hindrance(tight, { left: { cpu: 1000 } })).toBe('Left for you: 1 CPU core')
    expect(hindrance(tight, { largest: { cpu: 8000, mem: 16 * GIB } })).toBe('The largest host has no GPU')
    expect(presetHindrance(preset(), 'cuda.shares', room)).toBe('For another kind of GPU')
  })

  test('a preset without room now can be chosen, and says what it waits for', () => {
    const tight = preset({ fits: false })
    const busy = { ...room, free: { ...all, mem: 2 * GIB } }
    expect(hindrance(tight, busy)).toBe('')
    expect(presetWait(tight, busy)).toBe('Free now: 2 GiB RAM')
    expect(presetWait(tight, { ...room, sessionsLeft: 0 })).toBe('Session limit reached')
    expect(presetWait(tight, room)).toBe('No host has room for this now')
    expect(presetWait(preset(), room)).toBe('')
    expect(presetWait(tight, { ...room, largest: {} })).toBe('')
  })

  test('a preset with GPUs is shown where a host has one, or where no host is known', () => {
    const offered = (largest: Room['largest']) => isOffered(preset(), { largest })
    expect(offered(all)).toBe(true)
    expect(offered({ cpu: 8000, mem: GIB, 'cuda.shares': 100 })).toBe(true)
    expect(offered({ cpu: 8000, mem: GIB })).toBe(false)
    expect(offered({})).toBe(true)
    expect(isOffered(preset({ slots: { cpu: '1', mem: '2g' } }), { largest: { cpu: 8000, mem: GIB } })).toBe(true)
  })

  test('a preset fills the fields, and clears the GPU if it names none', () => {
    const form = { ...defaultForm(undefined, all), gpu: 2, name: 'mine' }
    const context = { limits: limitsOf(undefined, all, form.mem), image: undefined, room }
    expect(withPreset(form, preset(), context)).toMatchObject({ cpu: 4000, mem: 8 * GIB, shmem: GIB, gpu: 1 })
    expect(withPreset(form, preset({ slots: { cpu: '1' }, shmem: null }), context)).toMatchObject({
      name: 'mine',
      cpu: 1000,
      mem: form.mem,
      shmem: 64 * MIB,
      gpu: 0,
    })
  })

  test('the preset shown is the one with the amounts of the form, unless it cannot be chosen', () => {
    const form = { ...defaultForm(undefined, all), name: 'mine' }
    const context = { limits: limitsOf(undefined, all, form.mem), image: undefined, room }
    const small = preset({ name: 'small', slots: { cpu: '1', mem: '2g' } })
    const filled = withPreset(form, preset(), context)
    expect(presetShown(filled, [small, preset()], context)).toBe('large')
    expect(presetShown({ ...filled, cpu: 3000 }, [small, preset()], context)).toBeNull()
    const tight = { ...context, room: { ...room, left: { cpu: 2000 } } }
    expect(presetShown(withPreset(form, preset(), tight), [preset()], tight)).toBeNull()
  })
})
