import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type ApiClient, type Session } from '#manager/contract'
import { PYTHON_IMAGE } from '../fixtures/images.ts'
import { startBerth } from '../fixtures/berth.ts'
import { type EventStream, openEventStream } from '../fixtures/event-stream.ts'
import { median, quantile, round } from './statistics.ts'

const run = promisify(execFile)
const ROUNDS = 15
const WARM_UP = 2

/**
 * From the request to RUNNING in the console (which gets hints, and then asks), with the image present, compared with `docker run -d
 * --init` of the same image on Docker's own bridge; alternating, so that both run under the same load.
 */
export async function benchLaunch(stack: AsyncDisposableStack) {
  const berth = stack.use(await startBerth())
  const { api, token } = await berth.user('bench@berth.local')
  using stream = await openEventStream(berth.url, { token })
  const ours: Launch[] = []
  const docker: number[] = []
  for (let i = 0; i < ROUNDS + WARM_UP; i++) {
    const launched = await launchOnce(api, stream, i)
    const dockerMs = await dockerOnce(stack, i)
    if (i < WARM_UP) continue
    ours.push(launched)
    docker.push(dockerMs)
  }
  const total = ours.map(launched => launched.totalMs)
  const stage = (name: keyof Stages) => round(median(ours.map(launched => launched.stages[name])), 0)
  return {
    launch: {
      overDockerRunMs: round(median(total) - median(docker), 0),
      runningMs: { p50: round(median(total), 0), p95: round(quantile(total, 0.95), 0) },
      dockerRunMs: { p50: round(median(docker), 0), p95: round(quantile(docker, 0.95), 0) },
      stagesMs: { scheduled: stage('scheduled'), preparing: stage('preparing'), running: stage('running') },
      rounds: ROUNDS,
    },
  }
}

/** Durations from the timeline, each from the state before. */
interface Stages {
  readonly scheduled: number
  readonly preparing: number
  readonly running: number
}

interface Launch {
  readonly totalMs: number
  readonly stages: Stages
}

async function launchOnce(api: ApiClient, stream: EventStream, i: number): Promise<Launch> {
  const start = performance.now()
  const { items } = await api.createSession({
    body: { image: PYTHON_IMAGE, name: `bench-${i}`, resources: { cpu: '1', mem: '512m' } },
  })
  let session = items[0] as Session
  const params = { id: session.id }
  while (session.status !== 'RUNNING') {
    if (session.endedAt) throw new Error(`bench-${i} is ${session.status}: ${session.reason.message}`)
    const heard = stream.of('hint').length
    session = await api.getSession({ params })
    while (session.status !== 'RUNNING' && stream.of('hint').length === heard) await wait(1)
  }
  const totalMs = performance.now() - start
  const { items: events } = await api.listSessionEvents({ params })
  const at = (status: string) => Date.parse(events.find(event => event.to === status)?.at ?? '')
  const stages = {
    scheduled: at('SCHEDULED') - at('PENDING'),
    preparing: at('PREPARING') - at('SCHEDULED'),
    running: at('RUNNING') - at('PREPARING'),
  }
  await api.deleteSession({ params })
  while (!(await api.getSession({ params })).endedAt) await wait(50)
  return { totalMs, stages }
}

async function dockerOnce(stack: AsyncDisposableStack, i: number): Promise<number> {
  const name = `berth-bench-${process.pid}-${i}`
  const remove = async () => {
    await run('docker', ['rm', '-f', name]).catch(() => undefined)
  }
  stack.defer(remove)
  const start = performance.now()
  await run('docker', [
    'run',
    '-d',
    '--init',
    '--name',
    name,
    '--cpus',
    '1',
    '-m',
    '512m',
    PYTHON_IMAGE,
    'sleep',
    '600',
  ])
  const took = performance.now() - start
  await remove()
  return took
}
