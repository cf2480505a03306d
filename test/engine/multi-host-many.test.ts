import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { BUSYBOX_IMAGE, busyboxImage } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { FIRST_NETWORK, lastOf, type ManyNetworks, prefixOf } from '../fixtures/many-networks.ts'
import { openPrivateNetwork } from '../fixtures/private-network.ts'

const run = promisify(execFile)
const COUNT = 50

/** The process of one host, with what it prints. */
function startHost(engine: Engine, options: ManyNetworks) {
  const script = new URL('../fixtures/many-networks.ts', import.meta.url).pathname
  const [command, ...args] = [...engine.prefix, process.execPath, script, JSON.stringify(options)]
  const child: ChildProcess = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  if (!child.stdout) throw new Error('no output')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    next: async () => JSON.parse(String((await lines.next()).value)) as Record<string, number>,
    end: () => child.stdin?.end(),
    [Symbol.dispose]: () => void child.kill(),
  }
}

test('fifty networks between two hosts are made at once, each of them separate, and nothing of them is left', async () => {
  await busyboxImage()
  await using stack = new AsyncDisposableStack()
  const network = stack.use(await openPrivateNetwork())
  const engines = await Promise.all([startEngine(), startEngine()])
  const [one, two] = [stack.use(engines[0]), stack.use(engines[1])]
  for (const engine of engines) await engine.load(BUSYBOX_IMAGE)
  const hosts = [await network.connect(one.prefix), await network.connect(two.prefix)] as const
  using first = startHost(one, { engine: one.host, count: COUNT, role: 'main1', hosts })
  using second = startHost(two, { engine: two.host, count: COUNT, role: 'sub1', hosts })
  const joined = await Promise.all([first.next(), second.next()])

  const onHost = async ({ prefix }: Engine, ...words: string[]) => {
    const [program = '', ...rest] = prefix
    return (await run(program, [...rest, ...words])).stdout
  }
  const links = async (engine: Engine) =>
    [...(await onHost(engine, 'ip', '-o', 'link', 'show')).matchAll(/^\d+: (berth[vx][0-9a-f]+)/gm)].length
  expect(await Promise.all(engines.map(links))).toEqual([2 * COUNT, 2 * COUNT])

  /** Runs a server of the network with this index on a host. @param at 0 for main1, 1 for sub1 */
  const start = async (engine: Engine, index: number, at: 0 | 1) => {
    const last = lastOf(index) + at
    const flags = [
      '--network',
      `berth-cluster-${(FIRST_NETWORK + index).toString(16)}`,
      '--ip',
      `${prefixOf(index)}.${last}`,
    ]
    const serve = `while true; do echo "network ${index}" | nc -l -p 4000; done`
    await engine.docker('run', '-d', '--name', `n${index}`, ...flags, BUSYBOX_IMAGE, 'sh', '-c', serve)
  }
  const sample = [0, 15, 16, 33, 49]
  for (const index of sample) await Promise.all([start(one, index, 0), start(two, index, 1)])
  const ask = (from: number, to: number) =>
    one
      .docker('exec', `n${from}`, 'sh', '-c', `nc -w 3 ${prefixOf(to)}.${lastOf(to) + 1} 4000 < /dev/null`)
      .catch((error: unknown) => String(error))
  for (const index of sample) await expect.poll(() => ask(index, index)).toBe(`network ${index}`)
  for (const index of sample.slice(1)) expect(await ask(0, index)).not.toContain('network')
  for (const engine of engines) await engine.docker('rm', '-f', ...sample.map(index => `n${index}`))

  first.end()
  second.end()
  const left = await Promise.all([first.next(), second.next()])
  expect(await Promise.all(engines.map(links))).toEqual([0, 0])
  for (const engine of engines) {
    expect(await engine.docker('network', 'ls', '-q', '--filter', 'label=berth.cluster')).toBe('')
    expect(await onHost(engine, 'iptables', '-S')).not.toMatch(/-s \S+ -p udp -m udp --dport 4790 -j RETURN/)
  }
  console.info('fifty networks at once, in milliseconds:', { joined, left })
})
