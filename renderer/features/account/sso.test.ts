// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { codeFor } from '#manager/contract'
import { type Services } from '../../services.ts'
import { finishLinking } from './linking.ts'
import { finishingCode, finishSso, placeOfServer } from './sso.ts'

const desktopAt = (url: string) =>
  ({
    isDesktop: true,
    host: { endpoint: () => Promise.resolve({ kind: 'remote', url }) },
  }) as unknown as Services['host']
const browser = { isDesktop: false } as Services['host']
const CODE = `berth_${'c'.repeat(43)}`

test('a desktop app sends what counts at its own server only', async () => {
  const host = desktopAt('https://berth.example.org:8443')
  const at = await placeOfServer(host)
  expect(at).toBe('berth.example.org:8443')
  const sent = await finishingCode(host, CODE, { secret: 's', at: 'berth.example.org:8443' })
  expect(sent).toBe(await codeFor(CODE, 'berth.example.org:8443'))
  expect(sent).not.toContain(CODE)
  expect(sent).not.toBe(await codeFor(CODE, 'other.example.org'))
})

test('a server that was chosen after the sign-in had begun gets nothing of it', async () => {
  const finishing = finishingCode(desktopAt('https://hostile.example'), CODE, { secret: 's', at: 'berth.example.org' })
  await expect(finishing).rejects.toMatchObject({ code: 'sso_expired' })
})

test('a browser sends the code, which has come back to its own origin', async () => {
  expect(await placeOfServer(browser)).toBeUndefined()
  expect(await finishingCode(browser, CODE, { secret: 's' })).toBe(CODE)
})

test.each(['a-secret-alone', '"text"', 'null', '{"next":"/sessions"}', '[]'])(
  'what an older page of the tab has stored, as %s, is no visit to a provider',
  async stored => {
    const services = { api: {}, host: browser } as Pick<Services, 'api' | 'host'>
    sessionStorage.setItem('berth.sso', stored)
    sessionStorage.setItem('berth.sso.link', stored)
    await expect(finishSso(services, CODE, undefined)).rejects.toMatchObject({ code: 'sso_expired' })
    await expect(finishLinking(services, CODE)).rejects.toMatchObject({ code: 'sso_expired' })
    sessionStorage.clear()
  },
)
