import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProviderClient, type ProviderAccess } from '../../../manager/sso/provider-client.ts'
import { browseProvider, startTestProvider, type TestProvider } from '../../fixtures/oidc-provider.ts'

const REDIRECT = 'http://127.0.0.1:9/callback'
const client = createProviderClient({ now: Date.now })
let provider: TestProvider
let access: ProviderAccess
beforeAll(async () => {
  provider = await startTestProvider(() => REDIRECT)
  const { issuer, clientId, clientSecret } = provider
  access = { id: 'p', version: 1, name: 'Lab', issuer, clientId, clientSecret, scopes: ['email', 'profile'] }
})
afterAll(() => provider[Symbol.asyncDispose]())

test('a sign-in reads discovery, token and user information', async () => {
  provider.person = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: 'Ada' }
  expect(await client.check(access)).toMatchObject({ issuer: access.issuer, pkce: true })
  const { url, challenge } = await client.begin(access, REDIRECT)
  const { searchParams: query } = await browseProvider(url, access.issuer)
  expect(await client.finish(access, { challenge, query })).toMatchObject({ sub: 'ada', email: 'ada@example.org' })
})

test.each([
  ['a provider that is down', { issuer: 'http://127.0.0.1:1' }, 'sso_provider_unreachable'],
  ['where clouds keep credentials', { issuer: 'http://169.254.169.254' }, 'sso_provider_wrong'],
])('%s is told', async (_, change, code) => {
  await expect(client.check({ ...access, ...change })).rejects.toMatchObject({ code })
})

test('a provider that answers 503 is told as away', async () => {
  provider.instead = (_request, response) => {
    response.writeHead(503).end()
    return true
  }
  await expect(client.check(access)).rejects.toMatchObject({ code: 'sso_provider_unreachable' })
})
