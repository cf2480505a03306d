import { expect, test } from 'vitest'
import { AgentId, SessionId } from '#manager/contract'
import { type PendingSession } from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { newId } from '../store/new-id.ts'
import { allocationRequest, namesNodes, wantedNodes } from './allocation-request.ts'
import { type WaitingSessions } from './read-waiting.ts'

const SESSION: PendingSession = {
  id: newId(SessionId),
  ownerId: 'a',
  enqueuedAt: 0,
  requested: { cpu: 1500, mem: 2 ** 30, 'cuda.device': 2 },
  imageDigest: null,
  image: 'a',
  failedAgents: [],
  clusterSize: 3,
}
const group = { options: {} } as WaitingSessions['group']
const request = (session: PendingSession) => allocationRequest({ name: 'berth-a-1', user: null }, session, { group })

test('a session on one host asks for all its containers there, one over several hosts for a node for each', () => {
  expect(request(SESSION)).toMatchObject({ nodes: 1, cpus: 5, memBytes: 3 * 2 ** 30, gpus: 6 })
  expect(request({ ...SESSION, clusterMode: 'multi-host' })).toMatchObject({
    ...{ nodes: 3, cpus: 2, memBytes: 2 ** 30, gpus: 2 },
  })
})

test('nodes whose host has no network with others are excluded for a session over several hosts', () => {
  const apart: PendingSession = { ...SESSION, clusterMode: 'multi-host' }
  const agents = ['g1', 'g2', 'g3'].map(name => ({ id: newId(AgentId), name, devices: [] }) as unknown as AgentRow)
  const nodes = ['g1', 'g2', 'g3', 'g4'].map(name => ({ name, gpuTypes: [] }))
  const now = {
    agents,
    isReady: () => true,
    isNetworked: (id: AgentId) => id !== agents[1]?.id,
    unable: new Set<AgentId>(),
  }
  expect([namesNodes(SESSION, now), namesNodes(apart, now)]).toEqual([false, true])
  expect(wantedNodes(apart, nodes, now)).toEqual({ exclude: ['g2', 'g4'], gpuType: undefined })
})

test('nodes on which a session has failed are requested again where too few others are left for all its containers', () => {
  const agents = ['g1', 'g2', 'g3', 'g4'].map(
    name => ({ id: newId(AgentId), name, devices: [] }) as unknown as AgentRow,
  )
  const nodes = agents.map(({ name }) => ({ name, gpuTypes: [] }))
  const [g1, g2] = agents.map(({ id }) => id) as [AgentId, AgentId]
  const excluded = (change: Partial<PendingSession>, now: { isReady?: boolean; isNetworked?: boolean } = {}) =>
    wantedNodes({ ...SESSION, failedAgents: [g1], ...change }, nodes, {
      agents,
      isReady: id => id !== g2 || now.isReady !== false,
      isNetworked: id => id !== g2 || now.isNetworked !== false,
      unable: new Set(),
    })
  const apart = { clusterMode: 'multi-host' } as const
  expect(excluded(apart)).toMatchObject({ exclude: ['g1'] })
  expect(excluded(apart, { isReady: false })).toMatchObject({ exclude: [] })
  expect(excluded(apart, { isNetworked: false })).toMatchObject({ exclude: ['g2'] })
  expect(excluded({ ...apart, clusterSize: 4 })).toMatchObject({ exclude: [] })
  expect(excluded({ clusterSize: 4 }, { isReady: false })).toMatchObject({ exclude: ['g1'] })
})

test('nodes whose host lacks what a session needs are excluded, and Slurm is not asked if too few are left', () => {
  const agents = ['g1', 'g2', 'g3'].map(name => ({ id: newId(AgentId), name, devices: [] }) as unknown as AgentRow)
  const nodes = agents.map(({ name }) => ({ name, gpuTypes: [] }))
  const wanted = (lacking: readonly string[], change: Partial<PendingSession> = {}) => {
    const session = { ...SESSION, ...change }
    const now = {
      agents,
      isReady: () => true,
      isNetworked: () => true,
      unable: new Set(agents.filter(({ name }) => lacking.includes(name)).map(({ id }) => id)),
    }
    return namesNodes(session, now) ? wantedNodes(session, nodes, now) : 'any node'
  }
  expect(wanted([])).toBe('any node')
  expect(wanted(['g1', 'g3'])).toEqual({ exclude: ['g1', 'g3'], gpuType: undefined })
  expect(wanted(['g2'], { onlyOn: agents[0]?.id })).toEqual({ node: 'g1', gpuType: undefined })
  const refused = (count: number, needed = 1) => ({
    refused: { cause: 'slurm_hosts_unable', values: { needed, count } },
  })
  expect(wanted(['g1', 'g2', 'g3'])).toMatchObject(refused(0))
  expect(wanted(['g1'], { onlyOn: agents[0]?.id })).toMatchObject(refused(0))
  expect(wanted(['g2'], { clusterMode: 'multi-host' })).toMatchObject(refused(2, 3))
})
