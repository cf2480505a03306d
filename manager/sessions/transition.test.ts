import { describe, expect, test } from 'vitest'
import { AgentId, SESSION_STATUSES, TRANSITIONS } from '#manager/contract'
import { IllegalTransition, type SessionState, transition } from './transition.ts'

const A = AgentId.parse('a0000000-0000-7000-8000-000000000001')
const B = AgentId.parse('a0000000-0000-7000-8000-000000000002')
const state = (more: Partial<SessionState>): SessionState => ({
  status: 'PENDING',
  attempt: 1,
  failedAgents: [],
  agentId: A,
  ...more,
})

describe.each(SESSION_STATUSES)('transitions from %s', from => {
  test.each(SESSION_STATUSES)('a transition to %s is allowed exactly if the contract lists it', to => {
    const move = () => transition(state({ status: from }), { to })
    if (TRANSITIONS[from].includes(to)) expect(move).not.toThrow()
    else expect(move).toThrow(IllegalTransition)
  })
})

test('a retry releases the agent and records the failure there, once', () => {
  const effects = transition(state({ status: 'PREPARING', failedAgents: [B] }), { to: 'PENDING' })
  expect(effects).toMatchObject({ failedAgents: [B, A], released: true, freed: true, ended: false })
  const again = transition(state({ status: 'PULLING', failedAgents: [A] }), { to: 'PENDING' })
  expect(again.failedAgents).toEqual([A])
})

test('a session that is interrupted frees its slots, and its agent has not failed', () => {
  const effects = transition(state({ status: 'TERMINATING' }), { to: 'PENDING' })
  expect(effects).toMatchObject({ interrupted: true, freed: true, released: false, ended: false })
  expect(effects.failedAgents).toBeUndefined()
})

test('RUNNING starts the lifetime at the time of the agent, or at our own', () => {
  expect(transition(state({ status: 'PREPARING' }), { to: 'RUNNING', startedAt: '2026-01-01T00:00:00Z' }).started).toBe(
    '2026-01-01T00:00:00Z',
  )
  expect(transition(state({ status: 'PREPARING' }), { to: 'RUNNING' }).started).toBe('now')
})

test('an end frees slots, except for a session that held none', () => {
  expect(transition(state({ status: 'RUNNING' }), { to: 'TERMINATED' })).toMatchObject({ ended: true, freed: true })
  expect(transition(state({ status: 'PENDING' }), { to: 'CANCELLED' })).toMatchObject({ ended: true, freed: false })
  expect(transition(state({ status: 'RUNNING' }), { to: 'TERMINATING' })).toMatchObject({ ended: false, freed: false })
})
