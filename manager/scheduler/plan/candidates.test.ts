import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type ResourceSlots } from '#manager/contract'
import { Candidates } from './candidates.ts'
import { concentrated, dispersed, FreeCapacity, roundRobin, type Selector, totalOf } from './index.ts'
import { anAgent, aSession, GiB, IMAGE } from './plan-fixtures.ts'
import { kindsOf, CapacityClasses } from './capacity-classes.ts'
import { type PendingSession } from './snapshot.ts'

const kindOf = (model: string) => ({ model, memBytes: 16 * GiB, isMig: false })
const KINDS = ['NVIDIA H100', 'Tesla T4'].map(kindOf)
const part = (uuid: string, occupied: number, kind = KINDS[0]) => ({
  uuid,
  slot: 'cuda.shares' as const,
  total: 100,
  occupied,
  kind,
})
const whole = (uuid: string, kind = KINDS[0]) => ({ uuid, slot: 'cuda.device' as const, total: 1, occupied: 0, kind })
/** Free capacities of few kinds of hosts, as in a real group, so that many of them are equal. */
const someCapacities = fc
  .array(
    fc.record({
      big: fc.boolean(),
      used: fc.array(fc.record({ amount: fc.constantFrom(0, 40), kind: fc.nat(1) }), { maxLength: 2 }),
      wholes: fc.array(fc.nat(1), { maxLength: 2 }),
      image: fc.boolean(),
      turn: fc.option(fc.nat(3), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map(agents =>
    agents.map(({ big, used, wholes, image, turn }, n) => {
      const gpus = { 'cuda.device': wholes.length, 'cuda.shares': 100 * used.length }
      const capacity = { cpu: big ? 8000 : 4000, mem: 8 * GiB, ...gpus }
      const devices = [
        ...used.map(({ amount, kind }, index) => part(`S${index}`, amount, KINDS[kind])),
        ...wholes.map((kind, index) => whole(`W${index}`, KINDS[kind])),
      ]
      const occupied = { 'cuda.shares': used.reduce((sum, { amount }) => sum + amount, 0) }
      return anAgent(n, capacity, { devices, occupied, images: new Set(image ? [IMAGE] : []), turn })
    }),
  )
const someRequests = fc.array(
  fc.record({
    requested: fc.record({
      cpu: fc.constantFrom(500, 1000),
      mem: fc.constantFrom(0, GiB),
      'cuda.shares': fc.nat(60),
      'cuda.device': fc.constantFrom(0, 0, 1),
    }),
    gpu: fc.constantFrom(undefined, { model: 'H100' }, { model: 'T4' }),
    clusterSize: fc.constantFrom(1, 1, 2),
  }),
  { minLength: 1, maxLength: 4 },
)
/** Steps: the next request, or the free capacity in which resources are held from now on. */
const someSteps = fc.array(
  fc.oneof(
    { weight: 9, arbitrary: fc.record({ request: fc.nat(3), useHeld: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ hold: fc.nat(11) }) },
  ),
  { maxLength: 80 },
)

describe('the chosen free capacity', () => {
  test('the choice equals that of a search through every free capacity, whatever was placed or held before', () => {
    fc.assert(
      fc.property(
        someCapacities,
        someRequests,
        someSteps,
        fc.constantFrom(concentrated, dispersed, roundRobin),
        (agents, requests, steps, selector) => {
          const capacity = agents.map(agent => agent.capacity).reduce<ResourceSlots>(addSlots, {})
          const freeCapacities = agents.map(agent => new FreeCapacity(agent))
          const classes = new CapacityClasses(freeCapacities, { digest: IMAGE, inTurn: selector.inTurn })
          const candidates = new Map<string, Candidates>()
          const changed: FreeCapacity[] = []
          let turn = 10
          for (const step of steps) {
            if ('hold' in step) {
              const freeCapacity = freeCapacities[step.hold % freeCapacities.length]
              freeCapacity?.hold({ devices: [] }, { cpu: 1000 })
              if (freeCapacity) changed.push(freeCapacity)
              continue
            }
            const session = aSession(1, {}, requests[step.request % requests.length])
            const { useHeld } = step
            const key = `${step.request % requests.length} ${useHeld}`
            const known = candidates.get(key) ?? new Candidates(classes, { session, selector, capacity, useHeld })
            candidates.set(key, known)
            classes.update(changed)
            const best = known.best()
            expect(best).toBe(bestOf(freeCapacities, session, { selector, capacity, useHeld }))
            if (!best) continue
            for (let kernel = 0; kernel < (session.clusterSize ?? 1); kernel++) {
              best.take(session.requested, useHeld, session.gpu)
            }
            best.turn = ++turn
            changed.push(best)
          }
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

/** The expected choice, by a search of all free capacities without any index. */
function bestOf(
  freeCapacities: readonly FreeCapacity[],
  session: PendingSession,
  { selector, capacity, useHeld }: { selector: Selector; capacity: ResourceSlots; useHeld: boolean },
): FreeCapacity | undefined {
  const rank = selector.rank({ ...session, requested: totalOf(session) }, capacity)
  const turnOf = (freeCapacity: FreeCapacity) => (selector.inTurn ? freeCapacity.turn : 0)
  return freeCapacities
    .filter(freeCapacity => freeCapacity.fits(session.requested, useHeld, session.clusterSize, session.gpu))
    .toSorted((a, b) => rank(a) - rank(b) || turnOf(a) - turnOf(b) || (a.agent.id < b.agent.id ? -1 : 1))[0]
}

describe('equivalence classes', () => {
  const three = [1, 2, 3].map(n => new FreeCapacity(anAgent(n, { cpu: 4000, mem: GiB })))

  test('free capacities of equal hosts are one class, and leave it one by one', () => {
    const classes = new CapacityClasses(three, { digest: IMAGE, inTurn: false })
    expect(classes.freeCapacities).toEqual([three[0]])
    expect(classes.free).toMatchObject({ cpu: 12_000 })
    three[0]?.take({ cpu: 1000 })
    classes.update(three.slice(0, 1))
    expect(new Set(classes.freeCapacities)).toEqual(new Set([three[1], three[0]]))
    expect(classes.free).toMatchObject({ cpu: 11_000 })
    expect(kindsOf(three)).toEqual([three[0], three[1]])
  })

  test('parts of GPUs are equal whichever devices they are on; an equal sum of free parts is not enough', () => {
    const withParts = (n: number, used: readonly number[]) =>
      new FreeCapacity(
        anAgent(
          n,
          { 'cuda.shares': 200 },
          {
            devices: used.map((occupied, index) => part(`S${index}`, occupied)),
            occupied: { 'cuda.shares': used.reduce((sum, one) => sum + one, 0) },
          },
        ),
      )
    const freeCapacities = [withParts(1, [40, 0]), withParts(2, [0, 40]), withParts(3, [20, 20])]
    expect(kindsOf(freeCapacities)).toEqual([freeCapacities[0], freeCapacities[2]])
  })
})
