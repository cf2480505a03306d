import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCli, type Cli } from '../../fixtures/cli.ts'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { BASE } from '../../fixtures/slapd.ts'
import { DIRECTORY, type LdapWorld, startLdapWorld } from '../users/ldap-steps.ts'

/** Directories on the command line, with a real one: setting up, `berth login --sso --user`, and an own account; tokens of SCIM. */
let world: LdapWorld
let cli: Cli
beforeAll(async () => {
  world = await startLdapWorld()
  cli = await createCli()
  await world.configure()
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const provider = (...args: string[]) => ['admin', 'sign-in-provider', ...args]

test('administrators set a directory up, test it, and look a person up', async () => {
  await using directory = await temporaryDirectory()
  const caFile = join(directory.path, 'ca.pem')
  await writeFile(caFile, world.slapd.ca)
  await cli.signIn(world.manager.url)
  const create = provider('create', 'campus', '--name', 'Campus', '--ldap', world.slapd.ldaps, '--base', BASE)
  const missing = await cli.run([...create, 'trustEmail=true', '--client-secret-stdin'], 'x')
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('directBind') as string })
  const more = ['--bind-dn', world.slapd.bindDn, '--ca-file', caFile, '--client-secret-stdin', 'trustEmail=true']
  const made = await cli.run([...create, ...more], world.slapd.bindPassword)
  expect(made.code, made.err).toBe(0)
  expect((await cli.run(provider('test', 'campus'))).out).toContain(world.slapd.ldaps)
  const ada = await world.person()
  expect((await cli.run(provider('set', 'campus', 'groups=memberOf', 'nameAttribute=displayName'))).code).toBe(0)
  expect((await cli.run(provider('show', 'campus'))).out).toMatch(/nameAttribute +displayName/)
  expect((await cli.run(provider('look-up', 'campus', ada.uid))).out).toContain(ada.dn)
  expect((await cli.run(provider('look-up', 'campus', 'nobody-at-all'))).err).toContain('Nobody below')
  expect((await cli.run(provider('rm', 'campus'))).code).toBe(0)
})

test('people sign in with name and password, and link an own account with both passwords', async () => {
  const ada = await world.person()
  const login = ['login', '--endpoint', world.manager.url, '--sso', DIRECTORY]
  expect(await cli.run(login)).toMatchObject({ code: 2, err: expect.stringContaining('--user NAME') as string })
  const wrong = await cli.run([...login, '--user', ada.uid, '--password-stdin'], 'wrong')
  expect(wrong.err).toContain('Wrong name or password')
  const done = await cli.run([...login, '--user', ada.uid, '--password-stdin'], ada.password)
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining(`as ${ada.mail}`) as string })
  await cli.signIn(world.manager.url)
  const own = await world.person({ mail: 'own-at-work@example.org' })
  const link = ['identity', 'link', DIRECTORY, '--user', own.uid, '--password-stdin', '--yes']
  const linked = await cli.run(link, `${ADMIN.password}\n${own.password}`)
  expect(linked).toMatchObject({ code: 0, out: expect.stringContaining('Linked own-at-work@example.org') as string })
})

test('administrators make, list and end a token of SCIM', async () => {
  await cli.signIn(world.manager.url)
  const made = await cli.run(['admin', 'scim-token', 'create', 'Okta', '--json'])
  expect(made.code, made.err).toBe(0)
  const { id, token, baseUrl } = JSON.parse(made.out) as { id: string; token: string; baseUrl: string }
  expect(baseUrl).toMatch(/\/scim\/v2$/)
  const listed = await cli.run(['admin', 'scim-token', 'ls'])
  expect(listed.out).toMatch(/Okta +default/)
  expect(listed.out).not.toContain(token)
  expect((await cli.run(['admin', 'scim-token', 'rm', id])).code).toBe(0)
})
