import { expect, test } from 'vitest'
import { type z } from 'zod'
import { AuditFilter } from './operation/audit.ts'
import { DomainChange, GroupSpec } from './identity/domains.ts'
import { RegistrySpec } from './images/registries.ts'
import { ROUTES } from './routes.ts'
import { UserChange } from './identity/users.ts'

const credentials = { email: 'ada@example.org', password: 'x' }

test.each<[string, z.ZodType, (text: string) => object]>([
  ['the label of a sign-in', ROUTES.login.body, label => ({ ...credentials, label })],
  ['the name of a group', UserChange, text => ({ groups: ['default', text] })],
  ['a user name', RegistrySpec, username => ({ name: 'cr.example.org', username })],
  ['an actor', AuditFilter, actor => ({ actor })],
  ['an action', AuditFilter, action => ({ action })],
  ['a target', AuditFilter, target => ({ target })],
])('%s has no control characters', (_what, schema, body) => {
  expect(schema.safeParse(body('plain')).success).toBe(true)
  for (const text of ['nul \0', 'line\nbreak', 'escape \u001b[2J'])
    expect(schema.safeParse(body(text)).success).toBe(false)
})

test.each<[string, z.ZodType, object]>([
  ['domain', DomainChange, {}],
  ['project', GroupSpec, { name: 'lab' }],
])('the description of a %s may have lines, but no characters that the database refuses', (_what, schema, body) => {
  const parse = (description: string) => schema.safeParse({ ...body, description }).success
  expect(parse('two\n\tlines')).toBe(true)
  expect(parse('nul \0')).toBe(false)
})
