import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { root } from '../../fixtures/berth.ts'

interface Ready {
  readonly url: string
  readonly pid: number
}

/** `npm start -- --no-docker …` as npm runs it. */
function start(data: string) {
  const flags = ['--no-docker', '--no-open', '--json', '--port', '0', '--data', data]
  const child = spawn(process.execPath, [join(root, 'build/bootstrap/start.mjs'), ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ready = once(createInterface({ input: child.stdout }), 'line').then(
    ([line]) => JSON.parse(String(line)) as Ready,
  )
  return { child, ready }
}

const stopped = async (child: ChildProcess) => {
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  return ((await exited) as [number | null])[0]
}

test('without Docker the console starts, a second start opens the first one, and Ctrl-C stops everything', async () => {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-start-'))
  const first = start(data)
  let second: typeof first | undefined
  try {
    const { url, pid } = await first.ready
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'alive' })
    second = start(data)
    const exited = once(second.child, 'exit')
    expect(await second.ready).toMatchObject({ url, pid })
    expect(await exited).toEqual([0, null])
    expect(await stopped(first.child)).toBe(0)
    await expect(fetch(url)).rejects.toThrow()
  } finally {
    first.child.kill('SIGKILL')
    second?.child.kill('SIGKILL')
    await rm(data, { recursive: true, force: true })
  }
})
