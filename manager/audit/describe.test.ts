import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeRequest } from './describe.ts'

const request = { path: '/api/v1/keypairs', params: {}, body: undefined, reply: undefined, ok: true, callerId: 'me' }

test.each([
  [{ path: '/api/v1/sessions/:id', params: { id: 's' } }, 'session:s'],
  [{ path: '/api/v1/resource-policies/:name', params: { name: 'p' } }, 'resource-policy:p'],
  [{ path: '/api/v1/registries/:name/rescan', params: { name: 'r' } }, 'registry:r'],
  [{ path: '/api/v1/me/password' }, 'user:me'],
  [{ path: '/api/v1/me/password', callerId: undefined }, null],
  [{ reply: { accessKey: 'AKIA', secretKey: 'hidden' } }, 'keypair:AKIA'],
  [{ path: '/api/v1/sessions', reply: { items: [{ id: 'a' }, { id: 'b' }] } }, 'session:a'],
  [{ path: '/api/v1/agents/join-tokens', reply: { token: 'hidden' } }, null],
  [{ reply: { accessKey: 'AKIA' }, ok: false }, null],
])('the target of %j is %j', (change, target) => {
  expect(describeRequest({ ...request, ...change }).target).toBe(target)
})

test('an entry has the further ids of the path, the names of the fields, and the values on the allow-list', () => {
  const { detail } = describeRequest({
    ...request,
    path: '/api/v1/groups/:id/members/:userId',
    params: { id: 'g', userId: 'u' },
    body: { password: 'hidden', active: false, role: 'user', agentIds: ['a'], name: 'free text' },
  })
  expect(detail).toEqual({
    userId: 'u',
    fields: ['password', 'active', 'role', 'agentIds', 'name'],
    active: false,
    role: 'user',
    agentIds: ['a'],
  })
})

test('the entry of a template has no values, because nothing checks them', () => {
  const path = '/api/v1/session-templates/:name'
  const { target, detail } = describeRequest({ ...request, path, params: { name: 't' }, body: { owner: 'anything' } })
  expect([target, detail]).toEqual(['session-template:t', { fields: ['owner'] }])
})

test('the entry of a failed request has only its path, and describing never fails', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (params, body, reply) => {
      const told = describeRequest({ ...request, params, body, reply, ok: false })
      expect(told).toEqual({ target: null, detail: {} })
    }),
  )
})
