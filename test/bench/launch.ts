import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Session } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { median, quantile, round } from './statistics.ts'

const run = promisify(execFile)
const IMAGE = 'berth/python:3.13'
const ROUNDS = 15

/**
 * From the request to RUNNING, image present, next to `docker run -d --init` of the same image with a network of its own
 * made beforehand; alternating, so that both see the same machine.
 */
export async function benchLaunch() {
  await using berth = await startBerth()
  const ours: number[] = []
  const docker: number[] = []
  for (let i = 0; i < ROUNDS + 2; i++) {
    const [launchMs, dockerMs] = [await launchOnce(berth, i), await dockerOnce(i)]
    if (i < 2) continue // warm-up
    ours.push(launchMs)
    docker.push(dockerMs)
  }
  return {
    launch: {
      overDockerRunMs: round(median(ours) - median(docker), 0),
      runningMs: { p50: round(median(ours), 0), p95: round(quantile(ours, 0.95), 0) },
      dockerRunMs: { p50: round(median(docker), 0), p95: round(quantile(docker, 0.95), 0) },
      rounds: ROUNDS,
    },
  }
}

async function launchOnce(berth: Berth, i: number): Promise<number> {
  const api = await berth.api()
  const start = performance.now()
  const { items } = await api.createSession({
    body: { image: IMAGE, name: `bench-${i}`, resources: { cpu: '1', mem: '512m' } },
  })
  let session = items[0] as Session
  while (session.status !== 'RUNNING') {
    if (session.endedAt) throw new Error(`bench-${i} is ${session.status}: ${session.reason.message}`)
    await wait(5)
    session = await api.getSession({ params: { id: session.id } })
  }
  const took = performance.now() - start
  await api.deleteSession({ params: { id: session.id } })
  while (!(await api.getSession({ params: { id: session.id } })).endedAt) await wait(50)
  return took
}

async function dockerOnce(i: number): Promise<number> {
  const name = `berth-bench-${process.pid}-${i}`
  const start = performance.now()
  await run('docker', ['run', '-d', '--init', '--name', name, '--cpus', '1', '-m', '512m', IMAGE, 'sleep', '600'])
  const took = performance.now() - start
  await run('docker', ['rm', '-f', name])
  return took
}
