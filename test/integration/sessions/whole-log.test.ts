import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { LOG_CUT } from '#agent/contract'
import { type SessionId } from '#manager/contract'
import { type Script, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Logs of ended sessions, which their hosts keep. */
let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const CUT = `${LOG_CUT}\nthe end\n`
const parts: Record<number, string> = { 3: 'third\n', 4: 'fourth\n' }

async function endedSession(script: Partial<Script>): Promise<SessionId> {
  await cluster.join({ script: { destroy_kernel: () => ({ exitCode: 0, logTail: CUT }), ...script } })
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  expect(await cluster.api.readSessionLog({ params: { id } })).toEqual({
    text: 'live line\n',
    next: null,
    truncated: false,
  })
  await cluster.api.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
  return id
}

test('it is read part by part from the host of the session, and marked where its beginning is missing', async () => {
  const id = await endedSession({
    read_kept_log: ({ part = 3 }) => ({
      packed: gzipSync(parts[part] ?? '').toString('base64'),
      next: part === 3 ? 4 : null,
      truncated: true,
    }),
  })
  const ask = (part?: number) =>
    cluster.api.readSessionLog({ params: { id }, query: part === undefined ? {} : { part } })
  expect(await ask()).toEqual({ text: `${LOG_CUT}\nthird\n`, next: 4, truncated: true })
  expect(await ask(4)).toEqual({ text: 'fourth\n', next: null, truncated: true })
  expect(await cluster.api.getSessionLogs({ params: { id } })).toEqual({ text: CUT, truncated: true })
})

test.each(['files_gone', 'agent_failed'])('where the host answers %s, the end is left', async code => {
  const id = await endedSession({
    read_kept_log() {
      throw new ScriptedError(code, 'No.')
    },
  })
  const params = { id }
  expect(await cluster.api.readSessionLog({ params })).toEqual({ text: CUT, next: null, truncated: true })
  expect(await refusal(cluster.api.readSessionLog({ params, query: { part: 2 } }))).toMatchObject({ code })
})

test('what a hostile agent packs too tightly, or lists without an end, is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20)).toString('base64')
  const id = await endedSession({ read_kept_log: () => ({ packed: bomb, next: 2, truncated: false }) })
  const params = { id }
  expect(await cluster.api.readSessionLog({ params })).toEqual({ text: CUT, next: null, truncated: true })
  expect(await refusal(cluster.api.readSessionLog({ params, query: { part: 1 } }))).toMatchObject({
    code: 'agent_failed',
  })
  expect(await refusal(cluster.api.readSessionLog({ params, query: { part: 2 } }))).toMatchObject({
    code: 'agent_failed',
  })
})

test('many requests of one person for long answers reach an agent one at a time', async () => {
  let [atOnce, most] = [0, 0]
  const slowly = async <T>(reply: T) => {
    most = Math.max(most, ++atOnce)
    await new Promise(setImmediate)
    atOnce--
    return reply
  }
  await cluster.join({ script: { get_logs: () => slowly({ text: 'x', truncated: false }) } })
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  const params = { id }
  await Promise.all(
    Array.from({ length: 20 }, () => [
      cluster.api.getSessionLogs({ params }),
      cluster.api.readSessionLog({ params }),
    ]).flat(),
  )
  expect(most).toBe(1)
})
