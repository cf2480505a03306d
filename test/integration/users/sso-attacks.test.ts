import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { browseProvider } from '../../fixtures/oidc-provider.ts'
import { AS_CONSOLE } from '../../fixtures/manager.ts'
import { codeOf } from './account-steps.ts'
import { codeOfAddress, newPerson, PROVIDER, type SsoWorld, startSsoWorld } from './sso-steps.ts'

/** Callbacks, codes and ID tokens that somebody else made, at a provider of OpenID Connect. */
let world: SsoWorld
beforeAll(async () => {
  world = await startSsoWorld()
  await world.configure()
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => {
  world.provider.instead = () => false
})

describe('what an attacker tries', () => {
  test('a callback that is replayed, or has a wrong state, signs nobody in', async () => {
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const callback = await browseProvider(url, world.provider.issuer)
    const wrong = new URL(callback)
    wrong.searchParams.set('state', 'of-nobody')
    expect(await codeOf(world.finish(secret, codeOfAddress(await world.comeBack(wrong))))).toBe('sso_expired')
    const code = codeOfAddress(await world.comeBack(callback))
    expect(await codeOf(world.finish(secret, codeOfAddress(await world.comeBack(callback))))).toBe('sso_expired')
    expect(await codeOf(world.finish(secret, code))).toBe('ok')
    expect(await codeOf(world.finish(secret, code))).toBe('sso_expired')
  })

  test('an address that comes back in another browser is of no use: login CSRF, and sessions that are handed over', async () => {
    world.provider.person = newPerson()
    const attacker = await world.start()
    const victim = await world.start()
    const code = codeOfAddress(await world.comeBack(await browseProvider(attacker.url, world.provider.issuer)))
    expect(await codeOf(world.finish(victim.secret, code))).toBe('sso_expired')
    expect(await codeOf(world.finish(attacker.secret, code))).toBe('ok')
  })

  test('a code of the provider from another sign-in is refused: its PKCE verifier is another', async () => {
    world.provider.person = newPerson()
    const [mine, other] = [await world.start(), await world.start()]
    const callback = await browseProvider(mine.url, world.provider.issuer)
    const stolen = (await browseProvider(other.url, world.provider.issuer)).searchParams.get('code') ?? ''
    callback.searchParams.set('code', stolen)
    expect(await codeOf(world.finish(mine.secret, codeOfAddress(await world.comeBack(callback))))).toBe('sso_expired')
  })

  test('the browser is sent to our page or to its own computer, and nowhere else', async () => {
    const anybody = world.manager.api()
    const odd: unknown[] = [
      { to: 'https://evil.example.org' },
      { to: 'page', url: 'https://evil.example.org' },
      { to: 'loopback', port: '1234@evil.example.org' },
      { to: 'loopback', port: 80 },
      { to: 'loopback' },
    ]
    for (const one of odd) {
      expect(await codeOf(anybody.startSso({ body: { provider: PROVIDER, return: one as never } }))).toBe('bad_request')
    }
    world.provider.person = newPerson()
    const page = await world.start()
    const callback = await browseProvider(page.url, world.provider.issuer)
    callback.searchParams.set('next', 'https://evil.example.org')
    callback.searchParams.set('redirect_uri', 'https://evil.example.org')
    expect(await world.comeBack(callback)).toMatch(/^\/#\/sign-in\?sso=berth_[\w-]{43}$/)
    const shown = await anybody.startSso({ body: { provider: PROVIDER, return: { to: 'code' } } })
    expect(await world.comeBack(await browseProvider(shown.url, world.provider.issuer))).toMatch(
      /^\/#\/sign-in-code\?code=berth_/,
    )
  })

  test('a code never goes to a port of the computer by itself: another user of it may have sent the address of the provider', async () => {
    const { email } = (world.provider.person = newPerson())
    const begin = () =>
      world.manager.api().startSso({ body: { provider: PROVIDER, return: { to: 'loopback', port: 4321 } } })
    const attacker = await begin()
    const asked = await world.comeBack(await browseProvider(attacker.url, world.provider.issuer))
    expect(asked).toMatch(/^\/#\/sign-in-code\?code=berth_[\w-]{43}&port=4321&/)
    // The page shows the person and the word of the program that began, which is not the word that the victim's own program shows.
    const shown = new URLSearchParams(asked.split('?')[1])
    expect(Object.fromEntries(shown)).toMatchObject({ name: email, word: attacker.word })
    expect((await begin()).word).not.toBe(attacker.word)

    // A refusal by the provider has no code for an account, and reaches the program at once.
    world.provider.person = null
    const refused = await begin()
    expect(await world.comeBack(await browseProvider(refused.url, world.provider.issuer))).toMatch(
      /^http:\/\/127\.0\.0\.1:4321\/\?code=berth_[\w-]{43}$/,
    )
  })

  test('somebody who begins sign-ins without end keeps no colleague behind the same address out', async () => {
    world.provider.person = newPerson()
    const startFrom = async (address: string) => {
      const reply = await fetch(`${world.manager.url}/api/v1/auth/sso/start`, {
        method: 'POST',
        headers: { ...AS_CONSOLE, 'x-forwarded-for': address, 'content-type': 'application/json' },
        body: JSON.stringify({ provider: PROVIDER }),
      })
      expect(reply.status).toBe(200)
      return (await reply.json()) as { url: string; secret: string }
    }
    const goOn = async ({ url, secret }: { url: string; secret: string }) =>
      codeOf(
        world.finish(secret, codeOfAddress(await world.comeBack(await browseProvider(url, world.provider.issuer)))),
      )
    const [first, elsewhere] = [await startFrom('198.51.100.7'), await startFrom('203.0.113.7')]
    for (let round = 0; round < 25; round++)
      await Promise.all(Array.from({ length: 20 }, () => startFrom('198.51.100.7')))
    expect(await goOn(await startFrom('198.51.100.7'))).toBe('ok')
    // The oldest attempt of the network was replaced.
    expect(await goOn(first)).toBe('sso_expired')
    expect(await goOn(elsewhere)).toBe('ok')
  })

  const now = () => Math.floor(Date.now() / 1000)
  /** An ID token that is valid and signed with the provider's key, except for the test's changes. */
  function forge(nonce: string, change: { header?: object; claims?: object; key?: KeyObject | 'none' } = {}): string {
    const { id, key } = world.provider.signingKey
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const times = { iat: now(), exp: now() + 60 }
    const claims = { iss: world.provider.issuer, aud: 'berth', sub: 'forged', nonce, ...times, ...change.claims }
    const body = `${part({ alg: 'RS256', kid: id, ...change.header })}.${part(claims)}`
    const by = change.key ?? key
    return `${body}.${by === 'none' ? '' : sign('sha256', Buffer.from(body), by).toString('base64url')}`
  }
  const anotherKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  /** Signs in at a provider whose answers are forged, beginning with the token. */
  async function signInWith(token: (nonce: string) => string, userInfo: object = {}): Promise<unknown> {
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const callback = await browseProvider(url, world.provider.issuer)
    const nonce = new URL(url).searchParams.get('nonce') ?? ''
    const answers: Readonly<Record<string, object>> = {
      '/token': { access_token: 'of-nobody', token_type: 'bearer', expires_in: 60, id_token: token(nonce) },
      '/me': { sub: 'forged', email: 'forged@example.org', email_verified: true, ...userInfo },
    }
    world.provider.instead = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
      const answer = answers[url]
      if (answer) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      return answer !== undefined
    }
    return codeOf(world.finish(secret, codeOfAddress(await world.comeBack(callback))))
  }

  test.each([
    ['of another key', (nonce: string) => forge(nonce, { key: anotherKey() }), 'sso_token_invalid'],
    [
      'without a signature',
      (nonce: string) => forge(nonce, { header: { alg: 'none' }, key: 'none' }),
      'sso_token_invalid',
    ],
    [
      'of an unknown key id',
      (nonce: string) => forge(nonce, { header: { kid: 'none of theirs' } }),
      'sso_token_invalid',
    ],
    [
      'of another issuer',
      (nonce: string) => forge(nonce, { claims: { iss: 'https://evil.example.org' } }),
      'sso_token_invalid',
    ],
    ['for another client', (nonce: string) => forge(nonce, { claims: { aud: 'another' } }), 'sso_token_invalid'],
    ['with another nonce', () => forge('of-another-sign-in'), 'sso_token_invalid'],
    [
      'that is expired',
      (nonce: string) => forge(nonce, { claims: { exp: now() - 120, iat: now() - 180 } }),
      'sso_clock_off',
    ],
    ['that is not valid yet', (nonce: string) => forge(nonce, { claims: { nbf: now() + 300 } }), 'sso_clock_off'],
    ['without a subject', (nonce: string) => forge(nonce, { claims: { sub: undefined } }), 'sso_token_invalid'],
    [
      'that is right, its clock half a minute off,',
      (nonce: string) => forge(nonce, { claims: { exp: now() - 30 } }),
      'ok',
    ],
  ])('an ID token %s ends with the right result', async (_what, token, code) => {
    expect(await signInWith(token)).toBe(code)
  })

  test('user information about another person is refused', async () => {
    expect(await signInWith(forge, { sub: 'another' })).toBe('sso_token_invalid')
  })

  test('a response that names another issuer is refused (RFC 9207)', async () => {
    world.provider.person = newPerson()
    const { url, secret } = await world.start()
    const callback = await browseProvider(url, world.provider.issuer)
    expect(callback.searchParams.get('iss')).toBe(world.provider.issuer)
    callback.searchParams.set('iss', 'https://evil.example.org')
    expect(await codeOf(world.finish(secret, codeOfAddress(await world.comeBack(callback))))).toBe('sso_token_invalid')
  })
})
