import { expect, test } from 'vitest'
import { leadBrowser } from './lead-browser.ts'

const PROVIDER = 'https://login.example.org/authorize?state=secret&nonce=secret'
const ask = (url: string) => fetch(url, { redirect: 'manual' })

test('the address leads one browser to the provider, once, and says nothing itself', async () => {
  const address = await leadBrowser(PROVIDER, { isOther: () => Promise.resolve(false) })
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}$/)
  expect((await ask(new URL('/', address).href)).status).toBe(404)
  const first = await ask(address)
  expect([first.status, first.headers.get('location')]).toEqual([303, PROVIDER])
  expect(first.headers.get('referrer-policy')).toBe('no-referrer')
  const second = await ask(address)
  expect([second.status, second.headers.get('location')]).toEqual([410, null])
  expect(await second.text()).not.toContain('secret')
})

test('an address of other letters than those of a header leads there too', async () => {
  const address = await leadBrowser('https://login.example.org/부서?state=secret', {
    isOther: () => Promise.resolve(false),
  })
  const { status, headers } = await ask(address)
  expect([status, headers.get('location')]).toEqual([303, 'https://login.example.org/%EB%B6%80%EC%84%9C?state=secret'])
})

test('other users of the computer are led nowhere, and do not use it up', async () => {
  let isOther = true
  const address = await leadBrowser(PROVIDER, { isOther: () => Promise.resolve(isOther) })
  const other = await ask(address)
  expect([other.status, other.headers.get('location')]).toEqual([403, null])
  isOther = false
  expect((await ask(address)).status).toBe(303)
})

test.runIf(process.platform === 'linux')('the kernel says that a connection is of this user', async () => {
  expect((await ask(await leadBrowser(PROVIDER))).status).toBe(303)
})

test('nobody listens any more when the time is over', async () => {
  const address = await leadBrowser(PROVIDER, { waitMs: 1 })
  await expect
    .poll(() =>
      ask(address).then(
        () => 'answered',
        () => 'refused',
      ),
    )
    .toBe('refused')
})
