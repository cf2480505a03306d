import { expect, test } from 'vitest'
import { parseSettings } from '../config/berth-toml/parse.ts'
import { appsProposal } from './apps-proposal.ts'

const proposal = 'https://berth.example.org:20000-20099'

test('the proposed lines are settings that berth.toml takes', () => {
  const text = appsProposal({ apps: { address: null, fault: null, proposal } })
  expect(text).toContain('Open the ports 20000 to 20099 in the firewall')
  const { values } = parseSettings(text.split('\n').slice(1).join('\n'), 'berth.toml')
  expect(values.get('console.appsAddress')).toBe(proposal)
})

test('where there is nothing to propose, nothing is said', () => {
  expect(appsProposal({ apps: undefined })).toBe('')
  expect(appsProposal({ apps: { address: 'https://*.apps.example.org', fault: null, proposal: null } })).toBe('')
})
