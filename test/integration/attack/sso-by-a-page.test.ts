import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCli, type Cli } from '../../fixtures/cli.ts'
import { BROWSER_HERE, startVisit } from '../../fixtures/cli-visit.ts'
import { ADMIN } from '../../fixtures/manager.ts'
import { browseProvider } from '../../fixtures/oidc-provider.ts'
import { PROVIDER, type SsoWorld, startSsoWorld } from '../users/sso-steps.ts'

/**
 * Another user of the computer reads the provider's address among the arguments of the browser that a program opens, signs in there as
 * themselves, and has the code of THEIR account. Their own connection to the program's port is refused, but any page that they show in the
 * browser of the person who waits brings the code there: a picture is enough.
 */
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

/** The person's own browser loads a picture of a foreign page. */
async function loadPicture(port: string, code: string): Promise<number> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path: `/?code=${code}`,
    headers: {
      referer: 'http://demo--abcdefghijkl.localhost:50123/',
      accept: 'image/avif,image/webp,*/*;q=0.8',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'no-cors',
      'sec-fetch-dest': 'image',
    },
  }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode ?? 0
}

/** The attacker visits the address of the person's program. @returns what the page of the console shows the attacker */
async function visitAs(sub: string, url: string): Promise<{ port: string; code: string }> {
  world.provider.person = { sub, email: `${sub}@example.org`, email_verified: true }
  const location = await world.comeBack(await browseProvider(url, world.provider.issuer))
  const shown = new URLSearchParams(location.split('?')[1])
  return { port: shown.get('port') ?? '', code: shown.get('code') ?? '' }
}

test('a page in the browser of the person who signs in cannot bring the code of another account', async () => {
  const { child, outcome, url } = await startVisit(
    cli,
    ['login', '--endpoint', world.manager.url, '--sso'],
    BROWSER_HERE,
  )
  const { port, code } = await visitAs('mallory', url)
  const status = await loadPicture(port, code)
  const ended = await Promise.race([outcome, new Promise(done => setTimeout(done, 5_000))])
  child.kill()
  expect({ status, ended }).toMatchObject({ status: 403, ended: undefined })
})

test('nor link it to the account of a person who links one', async () => {
  await cli.signIn(world.manager.url)
  const link = ['identity', 'link', PROVIDER, '--password-stdin', '--yes']
  const { child, outcome, url } = await startVisit(cli, link, BROWSER_HERE, ADMIN.password)
  const { port, code } = await visitAs('mallory-2', url)
  await loadPicture(port, code)
  await Promise.race([outcome, new Promise(done => setTimeout(done, 5_000))])
  child.kill()
  expect((await cli.run(['identity', 'ls'])).out).not.toContain('mallory-2@example.org')
  // Whoever is linked signs in as the administrator from now on.
  const entered = await world.signIn({ sub: 'mallory-2', email: 'mallory-2@example.org', email_verified: true })
  expect(entered.user.email).not.toBe(ADMIN.email)
})
