import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { type Agent, type Session } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { readAdminPassword, temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { blocksOf, commandsIn } from '../../fixtures/page-blocks.ts'
import { gpus } from '../../fixtures/scripted-agent.ts'
import { noSlurm, type SlurmCluster, startSlurm } from '../../fixtures/slurm-cluster.ts'

const GUIDE = new URL('../../../docs/admin/growing.md', import.meta.url)
/** The workstation in the tutorial. */
const WORKSTATION = 'ws.example.org:8400'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

/** Commands of a part of the tutorial, as they stand there. */
async function stepsOf(part: string): Promise<string[]> {
  const [, section = ''] = (await readFile(GUIDE, 'utf8')).split(`\n## ${part}\n`)
  const [text = ''] = section.split('\n## ')
  return blocksOf(text, 'sh').flatMap(commandsIn)
}

/** A whole Berth on this computer, with hosts whose containers are simulated. Lines for new hosts are run by `add-host.test.ts`. */
async function startTutorial(slurm?: SlurmCluster) {
  const { path } = stack.use(await temporaryDirectory())
  const data = join(path, 'data')
  const cli = stack.use(await createCli())
  const here = `localhost:${await freePort()}`
  const engines = new Map<string, ReturnType<typeof scriptedEngine>>()

  /** Adds this computer's ways to what a person types at `berth up` and `berth login`, and runs it. @returns what it prints */
  async function follow(step: string): Promise<string> {
    const typed = step.replaceAll(WORKSTATION, here).split(' ')
    const variables = typed.filter(word => word.startsWith('BERTH_')).map(word => word.split('='))
    const [program = '', ...words] = typed.slice(variables.length)
    if (words[0] === 'up') return up(words, Object.fromEntries(variables) as Record<string, string>)
    if (program !== 'berth') return slurm ? slurm.run(program, ...words) : ''
    return words[0] === 'login' ? login(words) : berth(words)
  }
  async function berth(words: readonly string[], input = ''): Promise<string> {
    const { code, out, err } = await cli.run(words, input)
    expect({ words, code, err: code === 0 ? '' : err }).toEqual({ words, code: 0, err: '' })
    return out
  }
  async function up(words: readonly string[], typed: Readonly<Record<string, string>>): Promise<string> {
    // The engine of this computer belongs to other tests; its host joins below.
    const own = ['--no-engine', '--no-open', '--json', '--port', here.split(':')[1] ?? '', '--data', data]
    const args = words.filter(word => word !== '--images')
    const variables = { ...typed, BERTH_SLURM_POLL: '1', ...(slurm && { BERTH_SLURM_COMMANDS: slurm.commands }) }
    await startUp(cli, [...args, ...own], variables)
    return ''
  }
  async function login(words: readonly string[]): Promise<string> {
    const { fingerprint256 } = new X509Certificate(await readFile(join(data, 'tls', 'own-certificate.pem')))
    const password = await readAdminPassword(data)
    const out = await berth([...words, '--fingerprint', fingerprint256, '--password-stdin'], password)
    await joinHost('workstation')
    return out
  }
  async function joinHost(name: string): Promise<void> {
    const joinString = (await berth(['admin', 'agent', 'join-token'])).trim().split('\n').at(-1) ?? ''
    const devices = gpus(4).map(device => ({ ...device, uuid: `${name}-${device.uuid}` }))
    const engine = scriptedEngine({ name, capacity: { cpu: 16_000, mem: 62 * 2 ** 30, 'cuda.device': 4 }, devices })
    engines.set(name, engine)
    stack.use(await startMeshAgent({ home: join(path, name), engine, join: joinString }))
    await expect
      .poll(async () => (await agents()).find(agent => agent.name === name)?.status, { timeout: 60_000 })
      .toBe('CONNECTED')
  }
  const agents = async () => JSON.parse(await berth(['admin', 'agent', 'ls', '--json'])) as Agent[]
  const show = async (name: string) => JSON.parse(await berth(['session', 'show', name, '--json'])) as Session
  return { follow, join: joinHost, agents, show, engines }
}

async function startUp(cli: Cli, args: readonly string[], variables: Readonly<Record<string, string>>): Promise<void> {
  const child = cli.start(args, variables)
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said += text.toString()))
  const ended = once(child, 'exit')
  stack.defer(async () => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await ended
  })
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error(said))),
  ])
}

// The next test begins with the same.
test.skipIf(noSlurm === undefined)('the tutorial for one workstation and three hosts, line by line', async () => {
  await followToThreeHosts(await startTutorial())
})

test.skipIf(noSlurm !== undefined)('the whole tutorial, with a real Slurm at its end', async () => {
  const slurm = stack.use(await startSlurm())
  const tutorial = await startTutorial(slurm)
  await followToThreeHosts(tutorial)
  for (const step of await stepsOf('Slurm')) {
    const said = await tutorial.follow(step)
    if (step === 'sinfo') expect(said).toContain('g[1-2]')
    if (step.startsWith('berth session create')) {
      const [host] = (await tutorial.show('allocated')).kernels.map(({ agentName }) => agentName)
      expect(host).toMatch(/^g[12]$/)
      expect(tutorial.engines.get(host ?? '')?.containers.size).toBe(1)
      expect(await slurm.jobs()).toEqual([expect.stringMatching(/^berth-.* RUNNING$/)])
    }
  }
  await expect.poll(() => slurm.jobs()).toEqual([])
})

/** Follows the first two parts, and looks at what each step was for. */
async function followToThreeHosts({ follow, join, agents, show }: Awaited<ReturnType<typeof startTutorial>>) {
  for (const step of await stepsOf('One workstation')) {
    const said = await follow(step)
    if (step === 'berth session ls') expect(said).toMatch(/alone .*RUNNING/)
  }
  for (const step of await stepsOf('Three hosts')) {
    const said = await follow(step)
    if (step.endsWith('--command')) {
      expect(said).toContain('curl')
      // In place of running a line on each computer.
      for (const name of ['g1', 'g2']) await join(name)
    }
    if (step === 'berth admin agent ls') {
      for (const name of ['workstation', 'g1', 'g2']) expect(said).toContain(name)
      expect((await agents()).map(({ status }) => status)).toEqual(['CONNECTED', 'CONNECTED', 'CONNECTED'])
    }
    if (step === 'berth session ls') {
      const names = ['spread-1', 'spread-2', 'spread-3']
      const hosts = await Promise.all(names.map(async name => (await show(name)).kernels[0]?.agentName))
      expect(hosts.toSorted()).toEqual(['g1', 'g2', 'workstation'])
    }
  }
}
