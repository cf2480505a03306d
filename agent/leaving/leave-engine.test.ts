import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LABEL_MANAGER } from '#agent/contract'
import { parseCidr } from '../network/subnets.ts'
import { LABEL_TOOLBOX } from '../toolbox/toolbox.ts'
import { leaveEngine } from './leave-engine.ts'

/** FAKE of a Docker Engine with volumes and networks only; it answers as Docker does. */
let volumes: Map<string, Readonly<Record<string, string>>>
let networks: Map<string, Readonly<Record<string, string>>>
let stack: AsyncDisposableStack
let directory: string
let dockerHost: string
let programs: string[]

const OURS = { 'berth.agent': 'agent-a', [LABEL_MANAGER]: 'manager-a' }
const NETWORK = 'network-of-manager-a'

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const root = await mkdtemp(join(tmpdir(), 'berth-test-leave-'))
  stack.defer(() => rm(root, { recursive: true, force: true }))
  directory = join(root, 'agent')
  await mkdir(directory)
  await writeFile(
    join(directory, 'agent.json'),
    JSON.stringify({ agentId: 'agent-a', manager: { managerId: 'manager-a' } }),
  )
  programs = []
  volumes = new Map([['toolbox', { [LABEL_TOOLBOX]: '1' }]])
  networks = new Map([[NETWORK, { [LABEL_MANAGER]: 'manager-a' }]])
  const server = createServer(({ method, url = '' }, response) => {
    const { pathname, searchParams } = new URL(url.replace(/^\/v[\d.]+/, ''), 'http://engine')
    const [kind = '', name = ''] = pathname.slice(1).split('/')
    const things = { volumes, networks }[kind]
    const { label = [] } = JSON.parse(searchParams.get('filters') ?? '{}') as { label?: string[] }
    const listed = [...(things ?? [])]
      .filter(([, labels]) =>
        label.every(one => Object.entries(labels).some(([k, v]) => [k, `${k}=${v}`].includes(one))),
      )
      .map(([Name, Labels]) => ({ Id: Name, Name, Labels }))
    const answers: Readonly<Record<string, unknown>> = {
      version: { ApiVersion: '1.47' },
      containers: [],
      volumes: name === '' ? { Volumes: listed } : { Name: name, Labels: volumes.get(name) },
      networks: listed,
    }
    const isMissing = things !== undefined && name !== '' && !things.has(name)
    if (method === 'DELETE') things?.delete(name)
    if (method === 'DELETE' && !isMissing) return void response.writeHead(204).end()
    response.writeHead(isMissing ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isMissing ? { message: 'no such thing' } : answers[kind]))
  })
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  const socket = join(root, 'engine.sock')
  await once(server.listen(socket), 'listening')
  dockerHost = `unix://${socket}`
})
afterEach(() => stack.disposeAsync())

/** @returns what is told */
async function leave(): Promise<string[]> {
  const told: string[] = []
  const networkRange = parseCidr('10.213.0.0/16')
  if (!networkRange) throw new Error('no range')
  await leaveEngine(
    { directory, dockerHost, claimVolume: 'claim', networkRange, leave: 'engine' },
    line => told.push(line),
    { check: () => undefined, run: program => Promise.resolve(void programs.push(program)).then(() => '') },
  )
  return told
}

test('the last agent of an engine removes its claim, its networks, the toolbox and the firewall', async () => {
  volumes.set('claim', OURS)
  expect(await leave()).toEqual([])
  expect([...volumes.keys(), ...networks.keys()]).toEqual([])
  expect(programs).toContain('iptables-save')
})

test('an engine that another agent has taken over stays claimed, with its toolbox and its firewall', async () => {
  volumes.set('claim', { 'berth.agent': 'agent-b', [LABEL_MANAGER]: 'manager-b' })
  expect(await leave()).toEqual(['Firewall, toolbox and images stay: another agent uses this Docker Engine.'])
  expect([...volumes.keys()]).toEqual(['toolbox', 'claim'])
  expect([...networks.keys()]).toEqual([])
  expect(programs).toEqual([])
})

test('an agent of the same manager that has taken the engine over keeps its networks', async () => {
  volumes.set('claim', { 'berth.agent': 'agent-b', [LABEL_MANAGER]: 'manager-a' })
  await leave()
  expect([...volumes.keys(), ...networks.keys()]).toEqual(['toolbox', 'claim', NETWORK])
})
