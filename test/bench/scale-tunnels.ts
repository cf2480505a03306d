import { setTimeout as wait } from 'node:timers/promises'
import { type SessionId } from '#manager/contract'
import { CROWD_IMAGE, APP } from './crowd-image.ts'
import { type Server } from './scale.ts'
import { startPart } from './start-part.ts'
import { median, round } from './statistics.ts'
import { measureConnects, measureDown, measureRoundTrips, measureUp } from './tunnel-load.ts'

const ROUNDS = 5
const BYTES = 100_000_000
const ROUND_TRIPS = 1_000
const CONNECTS = 100
const LONGEST_MS = 60_000
const GROUP = 'scale-tunnel'

interface Place {
  readonly servers: readonly Server[]
  /** Port of the service that stands for the app of the container. */
  readonly service: number
  /** Directory for the data of an agent. */
  readonly home: string
}

/**
 * Tunnels to a container of an agent that can dial only the first of the managers: opened at that manager, and at the second one, which
 * reaches the agent through the first. In turn; a ratio is the median of those of each round.
 */
export async function scaleTunnels(stack: AsyncDisposableStack, { servers, service, home }: Place) {
  const [direct, other] = servers
  if (!direct || !other) throw new Error('two managers are needed')
  await direct.api.createResourceGroup({ body: { name: GROUP } })
  const { join } = await direct.api.createJoinToken({ body: { resourceGroup: GROUP } })
  const blocked = servers.filter(one => one !== direct).map(({ process }) => new URL(process.url).port)
  await startPart(stack, './scale-agents.ts', [service, home, blocked.join(','), join])
  const id = await launch(direct, other)
  const ports = [await open(stack, direct, id), await open(stack, other, id)] as const
  const rounds: { direct: Figures; other: Figures }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const one = { direct: await measure(ports[0]), other: await measure(ports[1]) }
    // The first round warms up.
    if (round > 0) rounds.push(one)
  }
  const middle = (kind: 'direct' | 'other', key: keyof Figures) => round(median(rounds.map(one => one[kind][key])), 0)
  const ratio = (key: keyof Figures) => round(median(rounds.map(one => one.other[key] / one.direct[key])))
  return Object.fromEntries(
    (['downMBps', 'upMBps', 'rttUs', 'connectsPerSecond'] as const).map(key => [
      key,
      { direct: middle('direct', key), throughOther: middle('other', key), ratio: ratio(key) },
    ]),
  )
}

interface Figures {
  readonly downMBps: number
  readonly upMBps: number
  readonly rttUs: number
  readonly connectsPerSecond: number
}

async function measure(port: number): Promise<Figures> {
  return {
    downMBps: await measureDown(port, BYTES),
    upMBps: await measureUp(port, BYTES),
    rttUs: median(await measureRoundTrips(port, ROUND_TRIPS)),
    connectsPerSecond: await measureConnects(port, CONNECTS, 1),
  }
}

/** A session on that agent, once both managers reach it. */
async function launch(direct: Server, other: Server): Promise<SessionId> {
  const [image = ''] = CROWD_IMAGE.references
  const resources = { cpu: '1', mem: '512m' }
  const { items } = await direct.api.createSession({ body: { image, resourceGroup: GROUP, resources } })
  const [made] = items
  if (!made) throw new Error('no session')
  const params = { id: made.id }
  for (const until = performance.now() + LONGEST_MS; ;) {
    const seen = await Promise.all([direct, other].map(({ api }) => api.getSession({ params })))
    const { items: managers } = await direct.api.listManagers()
    const via = managers.find(({ url }) => url === other.process.url)?.agentsVia
    if (seen.every(({ status, reachable }) => status === 'RUNNING' && reachable) && via === 1) break
    if (performance.now() > until) throw new Error(`the session is not there: ${JSON.stringify({ seen, managers })}`)
    await wait(100)
  }
  return made.id
}

/** @returns the port of a proxy whose tunnels are opened at this manager */
async function open(stack: AsyncDisposableStack, { api, process }: Server, id: SessionId): Promise<number> {
  const { grant } = await api.createGrant({ params: { id, app: APP } })
  return (await startPart(stack, './tunnel-proxy.ts', [process.url, id, grant, APP])).port
}
