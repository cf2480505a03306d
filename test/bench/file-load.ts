import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type FolderId } from '#manager/contract'
import { apiOf } from '../fixtures/manager.ts'
import { median, quantile, round } from './statistics.ts'

const REQUESTS = 8
const PATHS = 20
const FOR_MS = 3_000
/** Pause between two requests of one client, because requests are measured, not the start of processes. */
const PAUSE_MS = 200
const PASSWORD = 'Their-own-pass-1'
/** A file that takes no space on the disk: it represents one that is larger than any test may write. */
const SIZE_BYTES = 900 * 2 ** 30
const HOLES = 'holes'
/** A file with data, which is read from the memory of the system. */
const FULL = 'full'
const FULL_MIB = 512

interface Served {
  readonly url: string
  readonly token: string
  readonly id: FolderId
  readonly directory: string
}

/**
 * How long `GET /me` of one user takes while another one has eight requests for large files, next to the same without them: of
 * archives, checksums and contents. On two cores the clients (curl) are a part of the load.
 */
export async function benchFileLoad({ url, token, id, directory }: Served) {
  await writeFile(join(directory, HOLES), '')
  await truncate(join(directory, HOLES), SIZE_BYTES)
  const fill = spawn('sh', ['-c', `head -c ${FULL_MIB * 2 ** 20} /dev/urandom > ${FULL}`], { cwd: directory })
  await once(fill, 'exit')
  const email = 'other@example.org'
  await apiOf(url, token).createUser({ body: { email, name: 'Other', password: PASSWORD } })
  const { token: others } = await apiOf(url).login({ body: { email, password: PASSWORD, kind: 'token' } })
  const other = apiOf(url, others ?? '')

  const address = `${url}/api/v1/folders/${id}`
  const loads = {
    checksums: [`${address}/checksums`, '-H', 'content-type: application/json', '-d'],
    archive: [`${address}/archive?path=${FULL}`],
    content: [`${address}/content?path=${FULL}`],
  }
  const body = JSON.stringify({ paths: Array.from({ length: PATHS }, () => FULL) })
  const figures: Record<string, unknown> = {}
  for (const [name, args] of [
    ['checksums', [...loads.checksums, body]],
    ['archive', loads.archive],
    ['content', loads.content],
    ['contentOfHoles', [`${address}/content?path=${HOLES}`]],
  ] as const) {
    const alone = await latencies(() => other.me(), FOR_MS)
    const stop = startLoad(token, args)
    await delay(500)
    const under = await latencies(() => other.me(), FOR_MS)
    await stop()
    figures[name] = {
      ...{ aloneMs: alone.median, ms: under.median, longestMs: under.most },
      ratio: round(under.median / alone.median),
    }
  }
  return { requests: REQUESTS, ...figures }
}

/** Repeats requests when they have ended, each in a process of its own. @returns a function that ends them */
function startLoad(token: string, args: readonly string[]): () => Promise<void> {
  let isOver = false
  const running = new Set<ChildProcess>()
  const one = async () => {
    while (!isOver) {
      const child = spawn('curl', ['-s', '-o', '/dev/null', '-H', `authorization: Bearer ${token}`, ...args])
      running.add(child)
      await once(child, 'exit')
      running.delete(child)
      await delay(PAUSE_MS)
    }
  }
  const all = Array.from({ length: REQUESTS }, one)
  return async () => {
    isOver = true
    for (const child of running) child.kill()
    await Promise.all(all)
  }
}

async function latencies(request: () => Promise<unknown>, forMs: number) {
  const times: number[] = []
  const end = performance.now() + forMs
  while (performance.now() < end) {
    const begin = performance.now()
    await request()
    times.push(performance.now() - begin)
  }
  return { median: round(median(times), 1), most: round(quantile(times, 1), 1) }
}
