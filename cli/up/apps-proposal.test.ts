import { expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { appsProposal } from './apps-proposal.ts'

const url = 'https://berth.example.org:8400'
const certificate = {} as never
const none = { address: null, fault: null }

test('a Berth with a name and TLS is told of an address of apps that works', () => {
  const text = appsProposal({ url, certificate, apps: none })
  const [, proposed = ''] = /appsAddress = "(.*)"/.exec(text) ?? []
  expect(proposed).toBe('https://berth.example.org:20000-20099')
  expect(parseAppsAddress(proposed)).toMatchObject({ kind: 'ports', host: 'berth.example.org' })
})

test('nothing is proposed without TLS, at a loopback name or a bare address, and where an address is set', () => {
  expect(appsProposal({ url, certificate: undefined, apps: none })).toBe('')
  expect(appsProposal({ url: 'https://localhost:8400', certificate, apps: none })).toBe('')
  expect(appsProposal({ url: 'https://192.0.2.7', certificate, apps: none })).toBe('')
  expect(appsProposal({ url: 'https://[2001:db8::1]:8400', certificate, apps: none })).toBe('')
  expect(appsProposal({ url, certificate, apps: { address: 'https://*.apps.example.org', fault: null } })).toBe('')
})
