import { isAppError, KernelId } from '#manager/contract'
import { temporaryDirectory } from '../fixtures/manager.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'
import { newId } from '../../manager/store/new-id.ts'
import { Victim } from '../integration/hostile/victim.ts'
import { FROM_MANAGER, frameOf, shapingOf } from './agent-protocol.ts'
import { type Random } from './random.ts'
import { type Schema, valueOf } from './shapes.ts'
import { type FuzzTarget, within } from './target.ts'

const AT_ONCE = 3
const MORE_BYTES = 300 * 2 ** 20
const MORE_DESCRIPTORS = 60
const REQUESTED = FROM_MANAGER.filter(({ properties }) => properties?.input !== undefined)

/** Agents without an engine, each with a manager of its own that sends random data. */
export const fromManagerTarget: FuzzTarget = {
  name: 'from-manager',
  atOnce: AT_ONCE,
  weight: 0.1,
  async start() {
    const stack = new AsyncDisposableStack()
    const pairs = await Promise.all(Array.from({ length: AT_ONCE }, () => startPair(stack)))
    const idle = [...pairs]

    return {
      async input(random) {
        const pair = idle.pop()
        if (!pair) throw new Error('more inputs at once than agents')
        try {
          await command(pair, random)
        } finally {
          idle.push(pair)
        }
      },
      async check() {
        for (const { victim, descriptors, bytes } of pairs) {
          victim.assertAlive()
          if (victim.complaints.length > 0) throw new Error(`an agent says ${victim.complaints.join('\n')}`)
          const more = (await victim.descriptors()) - descriptors
          if (more > MORE_DESCRIPTORS) throw new Error(`${more} more descriptors than at the start`)
          const moreBytes = (await victim.residentBytes()) - bytes
          if (moreBytes > MORE_BYTES) throw new Error(`${Math.round(moreBytes / 2 ** 20)} MiB more than at the start`)
        }
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}

interface Pair {
  readonly manager: FakeManager
  readonly victim: Victim
  readonly ids: readonly string[]
  /** At the start. */
  readonly descriptors: number
  readonly bytes: number
}

async function startPair(stack: AsyncDisposableStack): Promise<Pair> {
  const manager = stack.use(await startFakeManager())
  const { path: data } = stack.use(await temporaryDirectory())
  const victim = stack.use(
    await Victim.start('agent/main.ts', {
      BERTH_DATA: data,
      BERTH_JOIN: manager.join(),
      BERTH_AGENT_CLAIM: 'berth-fuzz',
      // There is no engine: requests cannot be executed, but must be answered.
      DOCKER_HOST: `unix://${data}/no-engine.sock`,
    }),
  )
  const ids = [manager.managerId, newId(KernelId), newId(KernelId)]
  return { manager, victim, ids, descriptors: await victim.descriptors(), bytes: await victim.residentBytes() }
}

/** Requests, and then perhaps anything at all; after it the agent answers, on this connection or the next. */
async function command({ manager, ids }: Pair, random: Random): Promise<void> {
  const known = { ids, labels: [] }
  for (let count = random.int(8); count > 0; count--) {
    const schema: Schema = random.pick(REQUESTED)
    const name = random.chance(0.05) ? random.text() : schema.properties?.name?.const
    const input = valueOf(random, schema.properties?.input, shapingOf(random, known), 8)
    const id = random.pick([0, 1, 2 ** 52, random.int(1_000)])
    manager.sendText(JSON.stringify({ type: random.chance(0.1) ? 'cancel' : 'request', id, name, input }))
  }
  if (random.chance(0.2)) manager.sendText(frameOf(random, FROM_MANAGER, known))
  await within('an answer of the agent', answered(manager, known.ids))
}

async function answered(manager: FakeManager, [, kernelId]: readonly string[]): Promise<void> {
  for (;;) {
    while (!manager.connected) await new Promise(resolve => setTimeout(resolve, 10))
    const gone = await manager
      .request('get_logs', { kernelId: KernelId.parse(kernelId), tail: 1 })
      .then(() => false)
      .catch((error: unknown) => !isAppError(error))
    if (!gone) return
  }
}
