import { describe, expect, test } from 'vitest'
import {
  AppError,
  type NetworkAccess,
  type Preset,
  type ResourceSlots,
  type SessionId,
  SessionSpec,
} from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { anImage as image } from '../../testing/an-image.ts'
import { forecast, partsText, quotaNote, sessionsLeftText } from './forecast.ts'
import { firstFault } from './first-fault.ts'
import {
  atMost,
  defaultForm,
  durationError,
  fitForm,
  formLike,
  GIB,
  limitsOf,
  MIB,
  nameError,
  requestedSlots,
  toSpec,
  validate,
  type LaunchField,
  type LaunchForm,
} from './launch-form.ts'
import { presetHindrance, type Room } from './presets.ts'
import { refusedFields } from './refused-fields.ts'

const largest: ResourceSlots = { cpu: 8000, mem: 16 * GIB }
const withGpus: ResourceSlots = { ...largest, 'cuda.device': 4 }
const form = (change: Partial<LaunchForm> = {}): LaunchForm => ({ ...defaultForm(image(), largest), ...change })
const check = (change: Partial<LaunchForm>, taken: string[] = [], slots = largest) =>
  validate(form(change), {
    limits: limitsOf(image(), slots, form(change).mem),
    images: [image()],
    taken: new Set(taken),
    topPriority: 0,
  })

describe('the name of a session', () => {
  test.each([
    ['', ''],
    ['abc', '1 more character (4 to 64)'],
    ['my session', 'No spaces; use “-” instead'],
    ['naïve', '“ï” is not allowed: letters, digits, “-”, “_” and “.”'],
    ['-abc', 'Must begin with a letter or digit'],
    ['abcd-', 'Must end with a letter or digit'],
    ['../../etc', '“/” is not allowed: letters, digits, “-”, “_” and “.”'],
    ['a'.repeat(65), 'At most 64 characters'],
    ['taken', 'You have a live session named “taken”'],
    ['good_name-1.2', ''],
  ])('the name %s', (name, error) => expect(nameError(name, 1, new Set(['taken']))).toBe(error))

  test('a name has room for the numbers of several sessions, none of which is taken', () => {
    expect(nameError('a'.repeat(63), 2, new Set())).toMatch(/Too long/)
    expect(nameError('many', 3, new Set(['many-2']))).toMatch(/“many-2”/)
    expect(nameError('many', 3, new Set(['many']))).toBe('')
  })

  test('an invalid number of sessions does not multiply the name', () => {
    for (const count of [1_000_000_000, Number.MAX_VALUE, 2.5, -3, Number.NaN]) {
      expect(nameError('many', count, new Set(['many-1']))).toBe('')
    }
  })
})

describe('the launch form', () => {
  test('the initial values are accepted by the manager', () => {
    const start = form()
    expect(check({})).toEqual({})
    expect(start).toMatchObject({ cpu: 2000, mem: 4 * GIB, shmem: 64 * MIB, gpu: 0, count: 1 })
    expect(SessionSpec.safeParse(toSpec(start, limitsOf(image(), largest, start.mem))).success).toBe(true)
  })

  test('the initial values are within the limits of a small machine', () => {
    const small = { cpu: 1000, mem: 2 * GIB }
    expect(defaultForm(image(), small)).toMatchObject({ cpu: 1000, mem: GIB })
  })

  test('every mistake names its field', () => {
    expect(check({ cpu: 9000 })).toHaveProperty('cpu')
    expect(check({ mem: GIB / 4 })).toHaveProperty('mem')
    expect(check({ mem: GIB, shmem: 2 * GIB })).toEqual({
      shmem: 'Shared memory is part of the RAM and cannot be larger',
    })
    expect(check({ count: 51 })).toHaveProperty('count')
    expect(check({ count: 1.5 })).toHaveProperty('count')
    expect(check({ image: 'gone:1' })).toHaveProperty('image')
    expect(check({ environ: [{ name: 'HOME', value: '/x' }] })).toEqual({ environ: 'HOME: is set by Berth itself' })
  })

  test('an unreadable amount is refused, and changes no other field', () => {
    for (const field of ['cpu', 'mem', 'shmem', 'gpu'] as const) {
      expect(Object.keys(check({ [field]: Number.NaN }, [], withGpus))).toEqual([field])
    }
    const unread = form({ mem: Number.NaN })
    expect(limitsOf(image(), largest, unread.mem).shmem).toMatchObject({ min: 0, max: 16 * GIB })
    expect(fitForm(unread, image(), largest)).toEqual(unread)
  })

  test('GPUs are offered only if an agent has some, as shares if those are offered', () => {
    expect(limitsOf(image(), largest, GIB).gpu).toBeNull()
    const gpu = limitsOf(image(), withGpus, GIB)
    expect(gpu.gpu).toMatchObject({ slot: 'cuda.device', max: 4, step: 1 })
    expect(requestedSlots(form({ gpu: 2 }), gpu)).toMatchObject({ 'cuda.device': 2 })
    const shares = limitsOf(image(), { ...largest, 'cuda.shares': 400 }, GIB)
    expect(toSpec(form({ gpu: 30 }), shares).resources).toMatchObject({ 'cuda.shares': '0.3' })
    expect(toSpec(form({ gpu: 2 }), limitsOf(image(), largest, GIB)).resources).not.toHaveProperty('cuda.device')
  })

  test('amounts follow the chosen image: at least its minimum, at most the largest agent', () => {
    const heavy = image({ minimum: { cpu: '4', mem: '8g' }, shmem: '1g' })
    expect(fitForm(form(), heavy, largest)).toMatchObject({ cpu: 4000, mem: 8 * GIB, shmem: GIB })
    expect(fitForm(form({ cpu: 64_000, mem: 900 * GIB, gpu: 9 }), image(), withGpus)).toMatchObject({
      cpu: 8000,
      mem: 16 * GIB,
      gpu: 4,
    })
  })

  test('fields end at the limits, and name them as the cause', () => {
    const left = { cpu: 3000, mem: 32 * GIB, 'cuda.device': 0 }
    const limits = limitsOf(image(), withGpus, GIB, left)
    expect(limits).toMatchObject({ cpu: { max: 3000 }, mem: { max: 16 * GIB }, gpu: { min: 0, max: 0 } })
    expect(fitForm(form({ cpu: 6000, gpu: 1 }), image(), withGpus, left)).toMatchObject({ cpu: 3000, gpu: 0 })
    expect(quotaNote('cpu', withGpus, left)).toBe('Left for you now: 3 CPU cores')
    expect(quotaNote('cuda.device', withGpus, left)).toBe('Left for you now: no GPU')
    expect(quotaNote('mem', withGpus, left)).toBe('')
    expect(quotaNote('cpu', withGpus, {})).toBe('')
    // Nothing is left: the smallest amount can still be requested, and waits.
    expect(limitsOf(image(), largest, GIB, { cpu: 0 }).cpu).toMatchObject({ min: 500, max: 500 })
  })

  test('the form says how many sessions are left if their number is limited', () => {
    expect([null, 0, 1, 3].map(sessionsLeftText)).toEqual([
      '',
      'Session limit reached: a new session waits until one of yours ends',
      '1 session left',
      '3 sessions left',
    ])
  })

  test('a share is never called more than a part of a GPU', () => {
    const parts = (partsHold: Room['partsHold'], shares: number, ...sharedGpus: Room['sharedGpus']) =>
      partsText(shares, { partsHold, sharedGpus })
    const h100 = { model: 'NVIDIA H100', memBytes: 80 * GIB }
    expect(parts('enforced', 0)).toContain('no session can use more than its share')
    expect(parts('accounted', 0, h100)).toContain('not enforced')
    expect(parts('guarded', 0, h100)).toContain('is warned, and ended')
    expect(parts('guarded', 25, h100)).toMatch(/about 20 GiB .* is warned, and ended/)
    expect(parts(null, 25)).toContain('not enforced')
    expect(parts('accounted', 25, h100)).toBe(
      'NVIDIA H100: about 20 GiB of its 80 GiB of memory. Frameworks such as PyTorch are told so. It is advice, not a limit: a session on the GPU could use more than its share.',
    )
    expect(parts('enforced', 50, h100, { model: 'Tesla T4', memBytes: 16 * GIB })).toBe(
      'NVIDIA H100: about 40 GiB of its 80 GiB of memory. Tesla T4: about 8 GiB of its 16 GiB of memory. No session can use more than its share.',
    )
    // The typed amount is no amount yet.
    expect(parts('accounted', Number.NaN, h100)).toContain('not enforced')
  })

  test('empty rows and an empty command are left out of the request', () => {
    const spec = toSpec(
      form({
        environ: [
          { name: 'A', value: '1' },
          { name: '', value: '' },
        ],
        startupCommand: '  ',
      }),
      limitsOf(image(), largest, GIB),
    )
    expect(spec.environ).toEqual({ A: '1' })
    expect(spec).not.toHaveProperty('startupCommand')
    expect(spec).not.toHaveProperty('name')
  })
})

describe('lifetime, priority and kind', () => {
  const specOf = (change: Partial<LaunchForm>) => toSpec(form(change), limitsOf(image(), largest, GIB))

  test('a batch session needs a command, and has no idle timeout', () => {
    expect(check({ kind: 'batch', startupCommand: ' ' })).toHaveProperty('startupCommand')
    const batch = { kind: 'batch', startupCommand: 'make', idleTimeout: 'odd', maxLifetime: '8h' } as const
    expect(check(batch)).toEqual({})
    expect(specOf(batch)).toMatchObject({ kind: 'batch', startupCommand: 'make', maxLifetimeSeconds: 28_800 })
    expect(specOf(batch)).not.toHaveProperty('idleTimeoutSeconds')
  })

  test('durations are parsed as typed; an empty field is no limit', () => {
    expect(specOf({ maxLifetime: '1 h 30 min', idleTimeout: '45m' })).toMatchObject({
      maxLifetimeSeconds: 5400,
      idleTimeoutSeconds: 2700,
    })
    expect(specOf({})).not.toHaveProperty('maxLifetimeSeconds')
    for (const wrong of ['soon', '-1h', '366d', '8', '30s']) {
      expect(Object.keys(check({ maxLifetime: wrong, idleTimeout: wrong }))).toEqual(['maxLifetime', 'idleTimeout'])
    }
  })

  test('a number without a unit is not a duration', () => {
    expect(durationError('8')).toBe('Add a unit: 8h or 8m')
    expect(durationError('59s')).toBe('At least 1 minute')
    expect(['', '60s', '8h', '1h30m'].map(durationError)).toEqual(['', '', '', ''])
  })

  test('users may lower the priority, only admins may raise it', () => {
    expect(check({ priority: -10 })).toEqual({})
    for (const priority of [1, -11, 0.5, Number.NaN]) expect(check({ priority })).toHaveProperty('priority')
    const admin = { limits: limitsOf(image(), largest, GIB), images: [image()], taken: new Set<string>() }
    expect(validate(form({ priority: 10 }), { ...admin, topPriority: 10 })).toEqual({})
  })

  test('a session that may be placed on several hosts is not interrupted, which the manager would refuse', () => {
    const several = { interruptible: true, severalHosts: true, clusterSize: 2 }
    const limits = limitsOf(image(), largest, GIB)
    expect(toSpec(form(several), limits)).toMatchObject({ clusterMode: 'multi-host' })
    expect(toSpec(form(several), limits)).not.toHaveProperty('interruptible')
    expect(toSpec(form({ ...several, clusterSize: 1 }), limits)).toMatchObject({ interruptible: true })
    expect(toSpec(form({ ...several, severalHosts: false }), limits)).toMatchObject({ interruptible: true })
  })

  test('a copy has the request of the session, without its dependencies', () => {
    const ended = aSession(1, {
      kind: 'batch',
      startupCommand: 'make',
      maxLifetimeSeconds: 5400,
      dependsOn: ['x' as SessionId],
      priority: -2,
      interruptible: true,
      clusterSize: 3,
    })
    expect(toSpec(formLike(ended), limitsOf(image(), largest, GIB))).toMatchObject({ interruptible: true })
    expect(toSpec(form({}), limitsOf(image(), largest, GIB))).not.toHaveProperty('interruptible')
    // Over several hosts it cannot be interrupted: the switch is off there, whatever was chosen before.
    const overHosts = toSpec({ ...formLike(ended), severalHosts: true }, limitsOf(image(), largest, GIB))
    expect(overHosts.clusterMode).toBe('multi-host')
    expect(overHosts.interruptible).toBeUndefined()
    expect(toSpec(formLike(ended), limitsOf(image(), largest, GIB))).toMatchObject({ clusterSize: 3 })
    expect(toSpec(form({}), limitsOf(image(), largest, GIB))).not.toHaveProperty('clusterSize')
    expect(formLike(ended)).toMatchObject({
      kind: 'batch',
      startupCommand: 'make',
      maxLifetime: '1 h 30 min',
      idleTimeout: '',
      priority: -2,
      dependsOn: [],
    })
  })

  test('everything that the network of a session allowed is no choice of its copy, so a bound of today counts; less is', () => {
    const networkOf = (network: NetworkAccess) =>
      toSpec(formLike(aSession(1, { network })), limitsOf(image(), largest, GIB)).network
    expect(networkOf({ mode: 'full' })).toBeUndefined()
    expect(networkOf({ mode: 'none' })).toEqual({ mode: 'none' })
    const list: NetworkAccess = { mode: 'allowlist', names: ['pypi.org'] }
    expect(networkOf(list)).toEqual(list)
  })
})

describe('the forecast', () => {
  const resources = {
    largest: {},
    free: {},
    left: {},
    sessionsLeft: null,
    partsHold: null,
    sharedGpus: [],
    gpus: [],
    capacity: {},
    occupied: {},
    agents: { connected: 1, lost: 0 },
    sessions: { running: 0, pending: 0 },
  }
  const ask = (requested: ResourceSlots, free: ResourceSlots, change = {}) =>
    forecast({ requested, free, largest: withGpus, count: 1, holders: 1, resources: { ...resources, ...change } })

  test('it says what happens: a start now, later and why, or never', () => {
    expect(ask({ cpu: 1000 }, largest)).toEqual({ kind: 'now', text: 'Starts now.' })
    expect(ask({ cpu: 4000, 'cuda.device': 3 }, { cpu: 3000, 'cuda.device': 1 })).toEqual({
      kind: 'waits',
      text: 'Will be queued until there is 1 CPU core more and 2 GPUs more.',
    })
    expect(ask({ 'cuda.device': 5 }, withGpus)).toEqual({
      kind: 'never',
      text: 'Cannot start: the largest host has 4 GPUs.',
    })
    expect(ask({ cpu: 1000 }, largest, { sessionsLeft: 0 })).toEqual({
      kind: 'waits',
      text: 'Will be queued: you have reached your limit of running sessions.',
    })
    expect(ask({ cpu: 1000 }, largest, { left: { cpu: '0.5' } }).text).toBe(
      'Will be queued: you can use 0.5 CPU cores more.',
    )
    expect(ask({ cpu: 1000 }, {}, { agents: { connected: 0, lost: 1 } }).kind).toBe('waits')
    expect(ask({ cpu: 64_000 }, {}, { agents: { connected: 0, lost: 1 } }).kind).toBe('waits')
    expect(ask({ cpu: Number.NaN }, largest)).toEqual({ kind: 'unknown', text: '' })
  })
})

describe('launching while no agent is connected', () => {
  const context = (typed: LaunchForm) => ({
    limits: limitsOf(image(), {}, typed.mem, { cpu: 4000 }),
    images: [image()],
    taken: new Set<string>(),
    topPriority: 0,
  })

  test('a request is possible and waits, as far as limits allow', () => {
    const start = defaultForm(image(), atMost({}, {}))
    expect(validate(start, context(start))).toEqual({})
    const large = { ...start, cpu: 4000, mem: 64 * GIB }
    expect(fitForm(large, image(), {}, { cpu: 4000 })).toMatchObject({ cpu: 4000, mem: 64 * GIB })
    expect(validate(large, context(large))).toEqual({})
    expect(validate({ ...large, cpu: 5000 }, context(large))).toEqual({ cpu: 'At most 4' })
    const resources = {
      largest: {},
      free: {},
      left: {},
      sessionsLeft: null,
      partsHold: null,
      sharedGpus: [],
      gpus: [],
      capacity: {},
      occupied: {},
      // Connected, but to another resource group.
      agents: { connected: 1, lost: 0 },
      sessions: { running: 0, pending: 0 },
    }
    const requested = requestedSlots(start, context(start).limits)
    expect(forecast({ requested, free: {}, largest: {}, count: 1, holders: 0, resources }).kind).toBe('waits')
  })

  test('a preset can be chosen, unless it needs a GPU, of which nothing is known', () => {
    const room = {
      largest: {},
      free: {},
      left: {},
      sessionsLeft: null,
      partsHold: null,
      sharedGpus: [],
      gpus: [],
      gpuLimits: [],
    }
    const preset = { name: 'small', slots: { cpu: '2', mem: '4g' }, shmem: null, fits: false } as Preset
    expect(presetHindrance(preset, undefined, room)).toBe('')
    const gpu = { ...preset, slots: { ...preset.slots, 'cuda.device': '1' } }
    expect(presetHindrance(gpu, undefined, room)).toBe('No host is connected, so its GPUs are not known')
  })
})

describe('the first error of the form', () => {
  test('it is the first one on the page, in the words of its field', () => {
    expect(firstFault({})).toBeNull()
    const errors = check({ count: 51, cpu: 0, maxLifetime: '8' })
    const { count: _, ...others } = errors
    expect(firstFault(others)).toEqual({
      field: 'cpu',
      label: 'CPU',
      message: 'The minimum of this image is 0.5',
    })
    expect(firstFault(errors)?.message).toBe('A whole number from 1 to 50')
  })

  /** Fields whose values cannot be wrong. */
  const CHOICES: readonly LaunchField[] = [
    'severalHosts',
    'interruptible',
    'opens',
    'project',
    'resourceGroup',
    'kind',
    'runImageCommand',
    'automount',
    'slurmValues',
  ]

  test('every possible error has one', () => {
    const fields = Object.keys(form()) as LaunchField[]
    for (const field of fields.filter(name => !CHOICES.includes(name))) {
      expect(firstFault({ [field]: 'wrong' })).toMatchObject({ field })
    }
  })
})

describe('a refusal by the manager', () => {
  test('a refusal is shown at its field', () => {
    expect(refusedFields(new AppError('session_name_taken', { why: 'You have one.' }))).toEqual({
      name: 'You have one.',
    })
    const fields = [
      { path: 'resources.cpu', message: 'too many' },
      { path: 'environ.FOO', message: 'is odd' },
    ]
    expect(refusedFields(new AppError('bad_request', { fields }))).toEqual({ cpu: 'too many', environ: 'is odd' })
  })

  test('a refusal without a field is shown above the form', () => {
    expect(refusedFields(new AppError('unavailable'))).toEqual({})
    expect(
      refusedFields(new AppError('bad_request', { fields: [{ path: 'resourceGroup', message: 'gone' }] })),
    ).toEqual({})
    expect(refusedFields(new Error('a bug'))).toEqual({})
  })
})
