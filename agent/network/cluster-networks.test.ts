import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { type ClusterNetwork } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { openClusterNetworks } from './cluster-networks.ts'
import { type Vxlan } from './vxlan.ts'

const log = { warn() {} } as unknown as Log
const here = Object.values(networkInterfaces())
  .flatMap(all => all ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

/** FAKE of the engine and of the links of the kernel, in memory. */
function aHost(over: Partial<Vxlan> = {}) {
  const made: string[] = []
  let networks: { Id: string; Labels: Record<string, string> }[] = []
  const has = ({ Labels }: { Labels: Record<string, string> }, label: string) => {
    const [key = '', value] = label.split('=')
    return key in Labels && (value === undefined || Labels[key] === value)
  }
  const calls = {
    listNetworks: ({ filters }: { filters: { label: string[] } }) =>
      Promise.resolve(networks.filter(network => filters.label.every(label => has(network, label)))),
    createNetwork: ({ Name, Labels }: { Name: string; Labels: Record<string, string> }) => {
      networks.push({ Id: `${Name} ${made.length}`, Labels })
      made.push(`network ${Labels['berth.cluster-session']}`)
      return Promise.resolve()
    },
    getNetwork: (id: string) => ({
      remove: () => {
        networks = networks.filter(({ Id }) => Id !== id)
        return Promise.resolve()
      },
    }),
  }
  const vxlan: Vxlan = {
    prepare: ({ id }) => Promise.resolve(void made.push(`link ${id}`)),
    open: ({ id }) => Promise.resolve(void made.push(`open ${id}`)),
    remove: id => Promise.resolve(void made.push(`removed ${id}`)),
    loose: () => Promise.resolve([]),
    peers: () => Promise.resolve([]),
    probe: () => Promise.resolve(),
    ...over,
  }
  const open = (address: string | undefined) =>
    openClusterNetworks({
      engine: { calls } as unknown as EngineClient,
      address,
      firewall: () => ({ state: { isolation: 'full', reason: null }, apply: () => Promise.resolve() }),
      isEngineElsewhere: () => false,
      log,
      vxlan,
    })
  return { made, open }
}

const fails = () => Promise.reject(new Error('bridge: not found'))

describe('the hosts that the firewall admits', () => {
  test('are none on a host without an address, so that the port is left to others', async () => {
    expect(await (await aHost().open(undefined)).peers()).toBeUndefined()
    expect(await (await aHost({ peers: fails }).open(undefined)).peers()).toBeUndefined()
  })

  test('are those of sessions that still run after the address was taken away', async () => {
    const { open } = aHost({ peers: () => Promise.resolve(['192.168.7.3']) })
    expect(await (await open(undefined)).peers()).toEqual(['192.168.7.3'])
  })

  test('are none where no link can be made: the rules of all other sessions are installed all the same', async () => {
    const { open } = aHost({ peers: fails, probe: fails })
    expect(await (await open('192.0.2.1')).peers()).toEqual([])
  })
})

describe.skipIf(process.getuid?.() !== 0 || here === undefined)('the network of a session', () => {
  const cluster: ClusterNetwork = {
    id: 7,
    subnet: '10.212.0.0/28',
    kernels: [
      { role: 'main1', address: '10.212.0.2', host: here ?? '' },
      { role: 'sub1', address: '10.212.0.3', host: '192.0.2.9' },
    ],
  }
  const member = { managerId: 'm', sessionId: 's', attempt: 1, role: 'main1', cluster }

  test('is made once, and its link is opened again in case the agent was killed before', async () => {
    const { made, open } = aHost()
    const networks = await open(here)
    await networks.join(member)
    await networks.join(member)
    expect(made).toEqual(['link 7', 'network s/1', 'open 7', 'open 7'])
  })

  test('is made anew for another attempt, which has other hosts', async () => {
    const { made, open } = aHost()
    const networks = await open(here)
    await networks.join(member)
    made.length = 0
    await networks.join({ ...member, attempt: 2 })
    expect(made).toEqual(['removed 7', 'link 7', 'network s/2', 'open 7'])
  })

  test('is removed in the sweep, and so is a link whose network was never made', async () => {
    const { made, open } = aHost({ loose: () => Promise.resolve([8, 9]) })
    const networks = await open(here)
    await networks.join(member)
    made.length = 0
    await networks.sweep('m', id => id === 9)
    expect(made).toEqual(['removed 7', 'removed 8'])
  })
})
