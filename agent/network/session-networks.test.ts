import { type NetworkInspectInfo } from 'dockerode'
import { expect, test } from 'vitest'
import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { because } from '#manager/contract'
import { type EngineClient, fromEngine } from '../docker/engine-client.ts'
import { createSessionNetworks } from './session-networks.ts'
import { parseCidr } from './subnets.ts'

const OVERLAPS = Object.assign(new Error('Pool overlaps with other one on this address space'), { statusCode: 403 })
const NO_CHAIN = Object.assign(new Error('Failed to Setup IP tables: no chain DOCKER'), { statusCode: 500 })
const NO_SPACE = Object.assign(new Error('write local-kv.db: no space left on device'), { statusCode: 500 })

/** Networks on a FAKE engine that first returns these errors in turn, and then creates the requested networks. */
function networksOn(...answers: Error[]) {
  const held = new Map<string, NetworkInspectInfo>()
  const it = { asked: 0, changes: 0 }
  const calls = {
    listNetworks: () => Promise.resolve([...held.values()]),
    createNetwork({ IPAM, Labels }: Pick<NetworkInspectInfo, 'IPAM' | 'Labels'>) {
      const id = `network-${++it.asked}`
      const answer = answers.shift()
      if (answer) return Promise.reject(answer)
      held.set(id, { Id: id, Driver: 'bridge', IPAM, Labels } as NetworkInspectInfo)
      return Promise.resolve({ id })
    },
    getNetwork: (id: string) => ({ remove: () => Promise.resolve(void held.delete(id)) }),
  }
  const range = parseCidr('10.250.77.0/24')
  if (!range) throw new Error('a range')
  const networks = createSessionNetworks({ calls } as unknown as EngineClient, { range, onChange: () => it.changes++ })
  return {
    it,
    networks,
    start: (kernelId: string) => networks.create({ kernelId, sessionId: `of-${kernelId}` }, 'm'),
    keys: () => Array.from(held.values(), ({ Labels }) => Labels?.[LABEL_KERNEL_ID]),
    managers: () => Array.from(held.values(), ({ Labels }) => Labels?.[LABEL_MANAGER]),
  }
}

test('a place that another program was quicker to take is no problem', async () => {
  const { it, networks, start, keys } = networksOn(OVERLAPS)
  await start('first')
  expect([keys(), networks.problem, it]).toEqual([['first'], null, { asked: 2, changes: 0 }])
})

test.each([
  ['no place', Array.from({ length: 9 }, () => OVERLAPS), 8],
  ['no chain of its firewall', [NO_CHAIN, NO_CHAIN], 1],
])(
  'an engine that makes no network, for it has %s, is a problem of the host until it makes one',
  async (_what, answers, asked) => {
    const { it, networks, start, keys } = networksOn(...answers)
    await expect(start('first')).rejects.toMatchObject({
      code: 'kernel_create_failed',
      detail: because('docker_refused_networks'),
    })
    expect(it).toEqual({ asked, changes: 1 })
    const text = answers[0]?.message ?? ''
    expect(networks.problem).toEqual(because('docker_makes_no_networks', { text }))
    if (asked === 1) {
      await networks.check()
      expect(networks.problem, 'a look proves it by a network, which was refused again').not.toBeNull()
    }
    await networks.check()
    expect([networks.problem, it.changes, keys()]).toEqual([null, 2, []])
  },
)

test('a network that is made clears the problem, as a look does', async () => {
  const { networks, start, managers } = networksOn(NO_CHAIN)
  await expect(start('first')).rejects.toMatchObject({ code: 'kernel_create_failed' })
  await start('second')
  expect([networks.problem, managers()]).toEqual([null, ['m']])
})

test('the words of a full disk stay what they are, because the agent looks at the disk', async () => {
  const { networks, start } = networksOn(NO_SPACE)
  const error = await start('first').catch((refused: unknown) => fromEngine(refused, 'kernel_create_failed'))
  expect(error).toMatchObject({ code: 'disk_full' })
  expect(networks.problem).toBeNull()
})
