import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { concentrated, dominantShare, drf, lifo, plan, type PlanOptions, type Plan } from './index.ts'
import { anAgent, aSession, sessionId } from './plan-fixtures.ts'

/** `mem` counts in units of one byte here: only proportions matter. */
interface Demand {
  readonly cpu: number
  readonly mem: number
}

/** Plans one machine for users who each ask for as many equal tasks as possible. */
function share(capacity: Demand, users: Readonly<Record<string, Demand>>, options: PlanOptions = {}): Plan {
  const pending = Object.entries(users).flatMap(([ownerId, requested], user) =>
    Array.from({ length: 60 }, (_, n) => aSession(user * 1000 + n, { ...requested }, { ownerId, enqueuedAt: n })),
  )
  return plan({ agents: [anAgent(1, { ...capacity })], pending, options }, drf, concentrated)
}

function tasksOf(result: Plan, users: readonly string[]): number[] {
  const user = (id: string) => Math.floor(Number(id.slice(-12)) / 1000)
  return users.map((_, index) => result.placements.filter(p => user(p.sessionId) === index).length)
}

test('LIFO tries the newest session first', () => {
  const result = plan(
    { agents: [anAgent(1, { cpu: 2000 })], pending: [1, 2, 3].map(n => aSession(n, { cpu: 1000 })) },
    lifo,
    concentrated,
  )
  expect(result.placements.map(p => p.sessionId)).toEqual([sessionId(3), sessionId(2)])
  expect(result.queue).toEqual([sessionId(1)])
})

test('of equal requests LIFO serves the newest, whatever the order in which they are read', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(50), { minLength: 1, maxLength: 15 }), fc.nat(10), (times, cores) => {
      const pending = times.map((at, n) => aSession(n, { cpu: 1000 }, { enqueuedAt: at }))
      const { placements, reservation } = plan(
        { agents: [anAgent(1, { cpu: 1000 * cores })], pending, now: 10 ** 9 },
        lifo,
        concentrated,
      )
      const newest = pending.toSorted((a, b) => b.enqueuedAt - a.enqueuedAt).slice(0, cores)
      expect(placements.map(p => p.sessionId)).toEqual(newest.map(session => session.id))
      expect(reservation).toBeUndefined()
    }),
  )
})

describe('DRF', () => {
  test('DRF reproduces the example of the paper: 9 CPU and 18 GB, tasks of 1 CPU and 4 GB, and of 3 CPU and 1 GB: three and two', () => {
    const users = { a: { cpu: 1, mem: 4 }, b: { cpu: 3, mem: 1 } }
    expect(tasksOf(share({ cpu: 9, mem: 18 }, users), Object.keys(users))).toEqual([3, 2])
  })

  test('a user of twice the weight gets twice the share', () => {
    const users = { a: { cpu: 1, mem: 1 }, b: { cpu: 1, mem: 1 } }
    const result = share({ cpu: 30, mem: 30 }, users, { weights: { b: 2 } })
    expect(tasksOf(result, Object.keys(users))).toEqual([10, 20])
  })

  test('users share the machine in proportion to their weights, up to one task', () => {
    const weight = fc.integer({ min: 1, max: 5 })
    fc.assert(
      fc.property(fc.array(weight, { minLength: 2, maxLength: 4 }), fc.integer({ min: 10, max: 55 }), (all, cpu) => {
        const names = all.map((_, index) => `user-${index}`)
        const users = Object.fromEntries(names.map(name => [name, { cpu: 1, mem: 1 }]))
        const weights = Object.fromEntries(names.map((name, index) => [name, all[index] ?? 1]))
        const tasks = tasksOf(share({ cpu, mem: cpu }, users, { weights }), names)
        const sum = all.reduce((total, one) => total + one, 0)
        expect(tasks.reduce((total, one) => total + one, 0)).toBe(cpu)
        tasks.forEach((count, index) => {
          // No user's share differs from the ideal one by more than one task of each user.
          expect(Math.abs(count - (cpu * (all[index] ?? 1)) / sum)).toBeLessThanOrEqual(all.length)
        })
      }),
    )
  })

  test('projects share the machine in proportion to their weights, and their users what the project has', () => {
    const weight = fc.integer({ min: 1, max: 5 })
    const project = fc.record({ weight, users: fc.array(weight, { minLength: 1, maxLength: 3 }) })
    fc.assert(
      fc.property(fc.array(project, { minLength: 2, maxLength: 3 }), fc.integer({ min: 10, max: 55 }), (all, cpu) => {
        const users = all.flatMap(({ users }, p) =>
          users.map((weight, u) => ({ projectId: `p${p}`, ownerId: `p${p}u${u}`, weight })),
        )
        const pending = users.flatMap(({ projectId, ownerId }, user) =>
          Array.from({ length: 60 }, (_, n) =>
            aSession(user * 1000 + n, { cpu: 1 }, { ownerId, projectId, enqueuedAt: n }),
          ),
        )
        const options = {
          weights: Object.fromEntries(users.map(({ ownerId, weight }) => [ownerId, weight])),
          projectWeights: Object.fromEntries(all.map(({ weight }, p) => [`p${p}`, weight])),
        }
        const { placements } = plan({ agents: [anAgent(1, { cpu })], pending, options }, drf, concentrated)
        const tasks = users.map(
          (_, user) =>
            placements.filter(({ sessionId }) => Math.floor(Number(sessionId.slice(-12)) / 1000) === user).length,
        )
        const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0)
        const weights = sumOf(all.map(({ weight }) => weight))
        all.forEach((one, p) => {
          const mine = tasks.filter((_, user) => users[user]?.projectId === `p${p}`)
          expect(Math.abs(sumOf(mine) - (cpu * one.weight) / weights)).toBeLessThanOrEqual(all.length)
          mine.forEach((count, u) => {
            const due = (sumOf(mine) * (one.users[u] ?? 1)) / sumOf(one.users)
            expect(Math.abs(count - due)).toBeLessThanOrEqual(one.users.length)
          })
        })
      }),
    )
  })

  test('what a project holds counts for all of its users, and a session without a project is in one of its own', () => {
    const usage = [{ ownerId: 'a', projectId: 'rich', slots: { cpu: 1000 } }]
    const pending = [
      aSession(1, { cpu: 1000 }, { ownerId: 'b', projectId: 'rich', enqueuedAt: 1 }),
      aSession(2, { cpu: 1000 }, { ownerId: 'a', projectId: 'poor', enqueuedAt: 2 }),
      aSession(3, { cpu: 1000 }, { ownerId: 'a', projectId: null, enqueuedAt: 3 }),
    ]
    const agents = [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 1000 } })]
    const order = (options: PlanOptions) =>
      plan({ agents, pending, usage, options }, drf, concentrated).placements.map(p => p.sessionId)
    expect(order({})).toEqual([1, 2, 3].map(sessionId))
    expect(order({ projectWeights: { poor: 1 } })).toEqual([2, 3, 1].map(sessionId))
    expect(order({ projectWeights: { rich: 1000 } })).toEqual([2, 3, 1].map(sessionId))
  })

  test('a session of several kernels counts all of them', () => {
    const pending = [
      aSession(1, { cpu: 1000 }, { ownerId: 'a', clusterSize: 3 }),
      aSession(2, { cpu: 1000 }, { ownerId: 'a', enqueuedAt: 2 }),
      aSession(3, { cpu: 1000 }, { ownerId: 'b', enqueuedAt: 3 }),
      aSession(4, { cpu: 1000 }, { ownerId: 'b', enqueuedAt: 4 }),
    ]
    const { placements } = plan({ agents: [anAgent(1, { cpu: 5000 })], pending }, drf, concentrated)
    expect(placements.map(p => p.sessionId)).toEqual([sessionId(1), sessionId(3), sessionId(4)])
  })

  test('the share covers all that a user holds: a user with much running waits', () => {
    const pending = ['rich', 'poor'].flatMap((ownerId, user) =>
      [0, 1].map(n => aSession(user * 10 + n, { cpu: 1000 }, { ownerId, enqueuedAt: user })),
    )
    const usage = [{ ownerId: 'rich', slots: { cpu: 2000 } }]
    const agents = [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 2000 } })]
    const result = plan({ agents, pending, usage }, drf, concentrated)
    expect(result.placements.map(p => p.sessionId)).toEqual([sessionId(10), sessionId(11)])
  })

  const task = fc.record({ cpu: fc.integer({ min: 1, max: 2 }), mem: fc.integer({ min: 1, max: 2 }) })
  const machine = fc.record({ cpu: fc.integer({ min: 40, max: 100 }), mem: fc.integer({ min: 40, max: 100 }) })
  const group = fc.record({ machine, users: fc.array(task, { minLength: 2, maxLength: 4 }) })

  test('DRF is free of envy: nobody could do more with the share of another user, up to whole tasks', () => {
    fc.assert(
      fc.property(group, ({ machine, users }) => {
        const named = Object.fromEntries(users.map((user, index) => [`user-${index}`, user]))
        const tasks = tasksOf(share(machine, named), Object.keys(named))
        // With divisible tasks, no user would prefer another user's share. With whole tasks, the last one may not fit, and then others (of
        // at most twice the size) use the rest of that slot: two of their tasks, besides their own last one.
        const roundingTasks = 3 * 2
        users.forEach((mine, i) => {
          users.forEach((theirs, j) => {
            const count = tasks[j] ?? 0
            const possible = Math.min((count * theirs.cpu) / mine.cpu, (count * theirs.mem) / mine.mem)
            if ((tasks[i] ?? 0) < 60) expect(possible).toBeLessThanOrEqual((tasks[i] ?? 0) + roundingTasks)
          })
        })
      }),
    )
  })

  test('DRF is Pareto-efficient: no waiting user could have one task more', () => {
    fc.assert(
      fc.property(group, ({ machine, users }) => {
        const named = Object.fromEntries(users.map((user, index) => [`user-${index}`, user]))
        const tasks = tasksOf(share(machine, named), Object.keys(named))
        const used = (slot: 'cpu' | 'mem') => users.reduce((sum, user, i) => sum + user[slot] * (tasks[i] ?? 0), 0)
        users.forEach((user, i) => {
          const fits = used('cpu') + user.cpu <= machine.cpu && used('mem') + user.mem <= machine.mem
          if ((tasks[i] ?? 0) < 60) expect(fits).toBe(false)
        })
      }),
    )
  })

  test('DRF always serves the user of the least share among those whose next session fits', () => {
    fc.assert(
      fc.property(group, ({ machine, users }) => {
        const named = Object.fromEntries(users.map((user, index) => [`user-${index}`, user]))
        const { placements } = share(machine, named)
        const held: ResourceSlots[] = users.map(() => ({}))
        let used: ResourceSlots = {}
        for (const { sessionId: id, requested } of placements) {
          const owner = Math.floor(Number(id.slice(-12)) / 1000)
          const shares = held.map(slots => dominantShare(slots, { ...machine }))
          users.forEach((user, i) => {
            const next = addSlots(used, { ...user })
            const fits = SLOT_NAMES.every(slot => (next[slot] ?? 0) <= ((machine as ResourceSlots)[slot] ?? 0))
            const done = (held[i]?.cpu ?? 0) / user.cpu >= 60
            if (fits && !done) expect(shares[owner]).toBeLessThanOrEqual(shares[i] ?? 0)
          })
          held[owner] = addSlots(held[owner] ?? {}, requested)
          used = addSlots(used, requested)
        }
      }),
    )
  })
})
