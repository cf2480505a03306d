import { describe, expect, test } from 'vitest'
import { OWNER } from '../../testing/a-session.ts'
import { anImage } from '../../testing/an-image.ts'
import { forgetLaunch } from '../../data/launch/forget-launch.ts'
import { lastLaunch } from './last-launch.ts'
import { defaultForm, GIB, MIB, type LaunchForm } from './launch-form.ts'
import { recall, remember } from './remembered.ts'

const form = (change: Partial<LaunchForm>): LaunchForm => ({
  ...defaultForm(anImage(), { cpu: 8000, mem: 16 * GIB }),
  ...change,
})

describe('the remembered launch', () => {
  function aStorage(): Storage {
    const items = new Map<string, string>()
    return {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    } as Storage
  }
  const OTHER = '01990000-0000-7000-8000-000000000009' as typeof OWNER
  const job = form({
    name: 'mine',
    environ: [{ name: 'TOKEN', value: 'secret' }],
    kind: 'batch',
    startupCommand: 'python3 train.py',
    cpu: 3000,
    count: 2,
    clusterSize: 3,
    maxLifetime: '8h',
    priority: -2,
    automount: false,
    interruptible: true,
    startsAt: '2027-01-01T08:00',
  })

  test('it has what a launch can repeat, never variables, names or times', () => {
    const storage = aStorage()
    remember(OWNER, job, storage)
    expect(recall(OWNER, storage)).toEqual({
      image: 'berth/python:3.13',
      cpu: 3000,
      mem: 4 * GIB,
      shmem: 64 * MIB,
      gpu: 0,
      gpuChoice: null,
      count: 2,
      severalHosts: false,
      clusterSize: 3,
      priority: -2,
      project: '',
      resourceGroup: 'default',
      startupCommand: 'python3 train.py',
      maxLifetime: '8h',
      slurmTime: '',
      slurmValues: {},
      idleTimeout: '',
      opens: '',
      automount: false,
      runImageCommand: false,
      network: 'usual',
      allowedNames: '',
      interruptible: true,
      kind: 'batch',
      folders: [],
    })
  })

  test('access to everything is chosen for one launch only', () => {
    const storage = aStorage()
    remember(OWNER, { ...job, network: 'full' }, storage)
    expect(recall(OWNER, storage)?.network).toBe('usual')
    remember(OWNER, { ...job, network: 'none' }, storage)
    expect(recall(OWNER, storage)?.network).toBe('none')
  })

  test('one click repeats a batch job as a batch job, and says so', () => {
    const storage = aStorage()
    remember(OWNER, job, storage)
    const room = { images: [anImage()], largest: { cpu: 8000, mem: 64 * GIB }, left: {} }
    const last = lastLaunch(recall(OWNER, storage), room, {})
    expect(last?.size).toBe('2 sessions · Batch · 3 × 3 CPU cores · 4 GiB RAM')
    expect(last?.spec).toMatchObject({
      kind: 'batch',
      startupCommand: 'python3 train.py',
      count: 2,
      clusterSize: 3,
      maxLifetimeSeconds: 28_800,
      automount: false,
      priority: -2,
    })
  })

  test('it belongs to one account, and the sign-out removes it', () => {
    const storage = aStorage()
    remember(OWNER, job, storage)
    remember(OTHER, form({ cpu: 1000 }), storage)
    expect(recall(OTHER, storage)?.startupCommand).toBe('')
    forgetLaunch(OWNER, storage)
    expect(recall(OWNER, storage)).toBeNull()
    expect(recall(OTHER, storage)?.cpu).toBe(1000)
  })

  test('a record of an earlier version is read, a foreign or damaged one is not', () => {
    const storage = aStorage()
    const amounts = '"cpu":1000,"mem":1,"shmem":1,"gpu":0'
    storage.setItem(`berth.launch.${OWNER}`, `{"image":"a",${amounts}}`)
    expect(recall(OWNER, storage)).toMatchObject({ image: 'a', cpu: 1000 })
    const damaged = ['{', 'null', '{"image":1}', '{"image":"a","cpu":"many"}']
    const strange = ['"kind":"other"', '"count":"2"', '"automount":1', '"startupCommand":[]']
    for (const text of [...damaged, ...strange.map(each => `{"image":"a",${amounts},${each}}`)]) {
      storage.setItem(`berth.launch.${OWNER}`, text)
      expect(recall(OWNER, storage)).toBeNull()
    }
  })
})
