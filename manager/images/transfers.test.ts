import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ImageOffer } from '#agent/contract'
import { AgentId } from '#manager/contract'
import { scriptedDatabase } from '../../test/fixtures/scripted-database.ts'
import { silentLog } from '../log.ts'
import { createImageTransfers, type ImageTransfersDeps, type JoinAgents } from './transfers.ts'

const [first, second, taker, other] = [1, 2, 3, 4].map(n =>
  AgentId.parse(`0199a0e0-0000-7000-8000-00000000000${n}`),
) as [AgentId, AgentId, AgentId, AgentId]
const digest = `sha256:${'a'.repeat(64)}`
const offer: ImageOffer = {
  transferId: '0199a0e0-0000-7000-8000-0000000000ff',
  id: digest,
  references: [],
  sizeBytes: 1,
}
const MIB = 2 ** 20

/** Pauses that no test waits for: a test names the ones that it needs to pass. */
const LONG = { againMs: 3_600_000, pauseMs: 3_600_000, longPauseMs: 3_600_000 }

/** Answers of the database: agents that have the image, in the order in which they joined. */
function databaseWith(holders: () => readonly AgentId[], references: readonly string[] = []) {
  return scriptedDatabase(statement => {
    if (statement.includes('array_agg')) {
      const image = { id: digest, references, sizeBytes: 7 }
      return [{ digest, image, holders: holders().slice(0, 1) }]
    }
    if (statement.includes('"agent_images"')) return holders().map(agent_id => ({ digest, agent_id }))
    return holders().map(id => ({ id }))
  })
}

function transfersWith({
  holders = () => [first],
  isReady = () => true,
  join = () => new Promise(() => undefined),
  timings = {},
  ...rest
}: {
  holders?: () => readonly AgentId[]
  isReady?: (id: AgentId) => boolean
  join?: JoinAgents
} & Partial<ImageTransfersDeps>) {
  const joined: { from: AgentId; to: AgentId }[] = []
  const transfers = createImageTransfers({
    db: databaseWith(holders),
    agents: { isReady },
    join: (ends, signal) => {
      joined.push({ from: ends.from, to: ends.to })
      return join(ends, signal)
    },
    log: silentLog,
    timings: { ...LONG, ...timings },
    ...rest,
  })
  return { transfers, joined }
}

/** A request that takes an image, and its end. */
function aRequest() {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  return { run: () => promise, succeed: () => resolve('taken'), fail: reject }
}

test('an image is offered that another connected agent has, under at most a hundred of its names or the one that is asked for', async () => {
  const names = Array.from({ length: 120 }, (_, n) => `name:${n}`)
  const { transfers } = transfersWith({ db: databaseWith(() => [taker, first], names) })
  expect(await transfers.offer(digest, taker)).toMatchObject({
    id: digest,
    references: names.slice(0, 100),
    sizeBytes: 7,
  })
  expect(await transfers.offer(digest, taker, 'mine:1')).toMatchObject({ references: ['mine:1'] })
})

test.each([
  ['that only its taker has', { holders: () => [taker] }, digest],
  ['that no agent has', { holders: () => [] }, digest],
  ['of agents that are not connected here', { isReady: () => false }, digest],
  ['whose digest is none', {}, 'sha256:short'],
])('an image %s is not offered', async (_why, given, wanted) => {
  const { transfers } = transfersWith(given)
  expect(await transfers.offer(wanted, taker)).toBeUndefined()
})

test('while a request takes an image, an agent that has it is joined; at its end the socket ends, and the answer is that of the request', async () => {
  const signals: AbortSignal[] = []
  const { transfers, joined } = transfersWith({
    join: (_ends, signal) => {
      signals.push(signal)
      return new Promise(() => undefined)
    },
  })
  const request = aRequest()
  const givers: AgentId[] = []
  const taken = transfers.during(offer, taker, request.run, from => givers.push(from))
  await expect.poll(() => joined).toEqual([{ from: first, to: taker }])
  expect(givers).toEqual([first])
  expect(signals[0]?.aborted).toBe(false)
  request.succeed()
  expect(await taken).toBe('taken')
  expect(signals[0]?.aborted).toBe(true)
})

test('a request that fails ends its socket too, and the failure is passed on', async () => {
  const request = aRequest()
  let seen: AbortSignal | undefined
  const { transfers } = transfersWith({ join: (_ends, signal) => new Promise(() => (seen = signal)) })
  const taken = transfers.during(offer, taker, request.run)
  await expect.poll(() => seen).toBeDefined()
  request.fail(new Error('the disk is full'))
  await expect(taken).rejects.toThrow('the disk is full')
  expect(seen?.aborted).toBe(true)
})

test('where one agent breaks off, the next one gives', async () => {
  const { transfers, joined } = transfersWith({
    holders: () => [first, second],
    join: ({ from }) => (from === first ? Promise.reject(new Error('cut')) : new Promise(() => undefined)),
    timings: { pauseMs: 0 },
  })
  const request = aRequest()
  const taken = transfers.during(offer, taker, request.run)
  await expect.poll(() => joined.map(({ from }) => from)).toEqual([first, second])
  request.succeed()
  await taken
})

test('an image goes to one agent at a time, and to the next one when that has ended', async () => {
  const ends = new Map<AgentId, () => void>()
  const { transfers, joined } = transfersWith({
    join: ({ to }) => new Promise(resolve => ends.set(to, () => resolve(1))),
    timings: { pauseMs: 0 },
  })
  const [one, two] = [aRequest(), aRequest()]
  const taken = [transfers.during(offer, taker, one.run), transfers.during(offer, other, two.run)]
  await expect.poll(() => joined).toEqual([{ from: first, to: taker }])
  one.succeed()
  ends.get(taker)?.()
  await expect.poll(() => joined.at(-1)).toEqual({ from: first, to: other })
  expect(joined).toHaveLength(2)
  two.succeed()
  await Promise.all(taken)
})

test('a taker whose sockets all end without a success is joined slowly, and keeps nobody else waiting', async () => {
  const { transfers, joined } = transfersWith({
    join: ({ to }) => (to === taker ? Promise.resolve(0) : new Promise(() => undefined)),
    timings: { pauseMs: 0 },
  })
  const [vain, late] = [aRequest(), aRequest()]
  const taken = [transfers.during(offer, taker, vain.run)]
  await expect.poll(() => joined.length).toBe(6)
  taken.push(transfers.during(offer, other, late.run))
  await expect.poll(() => joined.at(-1)?.to).toBe(other)
  expect(joined.filter(({ to }) => to === taker)).toHaveLength(6)
  vain.succeed()
  late.succeed()
  await Promise.all(taken)
})

test('an image that appears later, and a database that answers again, are noticed by themselves', async () => {
  let looks = 0
  const { transfers, joined } = transfersWith({
    holders: () => {
      looks++
      if (looks === 1) throw new Error('the database is away')
      return looks === 2 ? [] : [first]
    },
    timings: { againMs: 1 },
  })
  const request = aRequest()
  const taken = transfers.during(offer, taker, request.run)
  await expect.poll(() => joined).toEqual([{ from: first, to: taker }])
  request.succeed()
  await taken
})

test('nobody is joined for a request that has ended', async () => {
  let present = false
  const { transfers, joined } = transfersWith({ holders: () => (present ? [first] : []), timings: { againMs: 1 } })
  const request = aRequest()
  const taken = transfers.during(offer, taker, request.run)
  request.succeed()
  await taken
  present = true
  // Another transfer shows that the plan was made again.
  const next = aRequest()
  const second = transfers.during(offer, other, next.run)
  await expect.poll(() => joined).toEqual([{ from: first, to: other }])
  next.succeed()
  await second
})

test.each([
  [MIB, true],
  [MIB - 1, false],
])('the rate is that of a copy worth measuring: %i bytes', async (bytes, isMeasured) => {
  const { transfers, joined } = transfersWith({ join: () => Promise.resolve(bytes) })
  expect(transfers.rate()).toBeUndefined()
  const request = aRequest()
  const taken = transfers.during(offer, taker, request.run)
  await expect.poll(() => joined).toHaveLength(1)
  await turn()
  if (isMeasured) expect(transfers.rate()).toBeGreaterThan(0)
  else expect(transfers.rate()).toBeUndefined()
  request.succeed()
  await taken
})
