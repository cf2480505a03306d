import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCli, type Cli } from '../../fixtures/cli.ts'
import { BROWSER_HERE, startVisit } from '../../fixtures/cli-visit.ts'
import { ADMIN } from '../../fixtures/manager.ts'
import { browseProvider } from '../../fixtures/oidc-provider.ts'
import { codeOfAddress, PROVIDER, type SsoWorld, startSsoWorld } from '../users/sso-steps.ts'

/** `berth login --sso`, and the providers of administrators, with a real provider. */
let world: SsoWorld
let cli: Cli
beforeAll(async () => {
  world = await startSsoWorld()
  cli = await createCli()
  await world.configure()
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const begin = (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  startVisit(cli, ['login', '--endpoint', world.manager.url, '--sso', ...args], environment)

/** Presses Continue on the page that the browser has come back to. @returns the answer of the program */
async function handOn(location: string, { word, cookie }: { word: string | undefined; cookie: string }) {
  const shown = new URLSearchParams(location.split('?')[1])
  expect(shown.get('word')).toBe(word)
  return load(`http://127.0.0.1:${shown.get('port')}/?code=${shown.get('code')}`, { cookie })
}

/** Loads an address of this computer in a browser. `localAddress`: from where. */
async function load(address: string, headers: Record<string, string>, localAddress?: string) {
  const sent = request(address, { headers, ...(localAddress === undefined ? {} : { localAddress }) }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) }
}

/** An address of this computer in a network. */
const localAddress = Object.values(networkInterfaces())
  .flatMap(one => one ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

test('a browser elsewhere shows a code, which is entered in the terminal', async () => {
  world.provider.person = { sub: 'cli-1', email: 'cli-1@example.org', email_verified: true }
  const { child, outcome, url } = await begin(['--no-browser'], {})
  const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
  const code = new URLSearchParams(location.split('?')[1]).get('code') ?? ''
  child.stdin.end(`${code}\n`)
  expect(await outcome).toMatchObject({ code: 0, out: expect.stringContaining('as cli-1@example.org') as string })
  expect((await cli.run(['whoami'])).out).toContain('cli-1@example.org')
})

test('a browser on this computer brings the code to a port of this computer, once the person has seen the word of the terminal', async () => {
  world.provider.person = { sub: 'cli-2', email: 'cli-2@example.org', email_verified: true }
  const { outcome, url, ...browser } = await begin([PROVIDER], BROWSER_HERE)
  const { cookie } = browser
  const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
  expect(location).toContain('name=cli-2%40example.org')
  const port = new URLSearchParams(location.split('?')[1]).get('port')
  expect((await fetch(`http://127.0.0.1:${port}/?code=of-somebody`)).status).toBe(404)
  // Another page in this browser opens windows with codes of the right form.
  for (const made of ['a', 'b'])
    expect((await load(`http://127.0.0.1:${port}/?code=berth_${made.repeat(43)}`, { cookie })).status).toBe(200)
  // The connection may come from an address of the network, so that its user is not looked up by a loopback address.
  if (process.platform === 'linux' && localAddress !== undefined) {
    for (const query of ['', `?code=berth_${'c'.repeat(43)}`]) {
      const answer = await load(`http://127.0.0.1:${port}/${query}`, { cookie }, localAddress)
      expect(answer).toMatchObject({
        status: 403,
        text: expect.stringContaining('not known as one of the user') as string,
      })
      expect(answer.headers).not.toMatchObject({ location: expect.any(String) as string })
    }
  }
  expect((await handOn(location, browser)).text).toContain('you can close this window')
  expect(await outcome).toMatchObject({ code: 0, out: expect.stringContaining('as cli-2@example.org') as string })
})

test('a refusal of the provider ends with its code, on either way, and a missing choice with the choices', async () => {
  world.provider.person = null
  const { child, outcome, url } = await begin(['--no-browser'], {})
  const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
  expect(codeOfAddress(location)).toBe('')
  child.stdin.end(`${new URLSearchParams(location.split('?')[1]).get('code') ?? ''}\n`)
  const refused = await outcome
  expect(refused.code).toBe(3)
  expect(refused.err).toContain('cancelled or refused at The lab')
  const here = await begin([], BROWSER_HERE)
  const back = await world.comeBack(await browseProvider(here.url, world.provider.issuer))
  await load(back, { cookie: here.cookie })
  expect((await here.outcome).err).toContain('cancelled or refused at The lab')
  const nobody = await cli.run(['login', '--endpoint', world.manager.url])
  expect(nobody).toMatchObject({ code: 2, err: expect.stringContaining('--sso') as string })
})

test('the code of another account counts only from a window of the browser that the program has led to the provider', async () => {
  const { child, outcome, url, address, ...browser } = await begin([PROVIDER], BROWSER_HERE)
  const { cookie } = browser
  expect(new URL(address).origin).not.toBe(world.provider.issuer)
  // Somebody who has learnt the provider's address signs in there with their own account.
  world.provider.person = { sub: 'mallory', email: 'mallory@example.org', email_verified: true }
  const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
  const code = new URLSearchParams(location.split('?')[1]).get('code') ?? ''
  const picture = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
  const frame = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }
  const window = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const refused = { status: 403, text: expect.stringContaining('did not begin in this browser') as string }
  const value = cookie.split('=')[1] ?? ''
  for (const headers of [{}, window, { ...picture, cookie }, { ...frame, cookie }, { cookie: `berth_sso=${value}` }])
    expect(await load(`${address}?code=${code}`, headers)).toMatchObject(refused)
  for (const headers of [picture, frame]) {
    const answer = await load(address, headers)
    expect(answer).toMatchObject(refused)
    expect(answer.headers).not.toHaveProperty('set-cookie')
  }
  expect(child.exitCode).toBe(null)
  // The sign-in continues in the browser of the person.
  expect(await load(`${address}?code=${code}`, { ...window, cookie: `other=1; ${cookie}` })).toMatchObject({
    status: 200,
  })
  expect(await outcome).toMatchObject({ code: 0 })
})

test('administrators set providers up on the command line, and the secret is never shown', async () => {
  await cli.signIn(world.manager.url)
  const provider = (...args: string[]) => ['admin', 'sign-in-provider', ...args]
  const { issuer, clientSecret } = world.provider
  const create = provider('create', 'second', '--name', 'Second', '--issuer', issuer, '--client-id', 'berth')
  const made = await cli.run(
    [...create, '--client-secret-stdin', 'emailDomains=example.org,lab.example.org'],
    clientSecret,
  )
  expect(made.code, made.err).toBe(0)
  const mapping = 'mapping=[{"group":"staff","projects":["research"]}]'
  expect((await cli.run(provider('set', 'second', 'groupsClaim=groups', mapping))).code).toBe(0)
  const shown = await cli.run(provider('show', 'second', '--json'))
  expect(shown.out).not.toContain(clientSecret)
  expect(JSON.parse(shown.out)).toMatchObject({
    clientSecretSet: true,
    emailDomains: ['example.org', 'lab.example.org'],
    mapping: [{ group: 'staff', projects: ['research'], role: null }],
  })
  expect((await cli.run(provider('test', 'second'))).out).toContain(issuer)
  expect((await cli.run(provider('set', 'second', 'clientSecret=x'))).code).toBe(2)
  expect((await cli.run(provider('rm', 'second'))).code).toBe(0)
  expect((await cli.run(provider('ls'))).err).toContain('/api/v1/auth/sso/callback')
  expect((await cli.run(['admin', 'user', 'unlink', 'cli-1@example.org'])).err).toContain('Links removed: 1')
})

test('an own account at a provider is linked, listed and unlinked', async () => {
  await cli.signIn(world.manager.url)
  world.provider.person = { sub: 'cli-own', email: 'own@example.org', email_verified: true }
  const link = ['identity', 'link', PROVIDER, '--password-stdin', '--yes']
  // The browser may be signed in at the provider as somebody else, so the account is shown for confirmation.
  const unasked = await cli.run(link.slice(0, -1), ADMIN.password)
  expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') as string })
  const { outcome, url, ...browser } = await startVisit(cli, link, BROWSER_HERE, ADMIN.password)
  await handOn(await world.comeBack(await browseProvider(url, world.provider.issuer)), browser)
  const linked = await outcome
  expect(linked).toMatchObject({ code: 0, out: expect.stringContaining('Linked own@example.org') as string })
  expect(linked.err).toContain('Account at The lab: own@example.org')
  expect((await cli.run(['identity', 'ls'])).out).toMatch(/own@example\.org +The lab/)
  const unlink = ['identity', 'unlink', 'own@example.org', '--password-stdin']
  expect((await cli.run(unlink, 'wrong')).err).toContain('password is wrong')
  expect((await cli.run(unlink, ADMIN.password)).out).toContain('Unlinked own@example.org')
  expect((await cli.run(unlink, ADMIN.password)).code).not.toBe(0)
})
