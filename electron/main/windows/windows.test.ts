import { expect, test } from 'vitest'
import { quitQuestion } from './ask-before-quit.ts'
import { deepLinkOf, routeOfDeepLink } from './deep-link.ts'

const ID = '01900000-0000-7000-8000-000000000001'

test('a deep link opens a page of the console and does nothing else', () => {
  expect(routeOfDeepLink('berth://open/sessions')).toBe('/sessions')
  expect(routeOfDeepLink(`berth://open/sessions/${ID}`)).toBe(`/sessions/${ID}`)
  const code = `berth_${'a-B_9'.repeat(8)}xyz`
  expect(routeOfDeepLink(`berth://sign-in/${code}`)).toBe(`/sign-in?sso=${code}`)
  expect(deepLinkOf(['/usr/bin/berth', '--flag', `berth://open/sessions/${ID}`])).toBe(`/sessions/${ID}`)
})

test.each([
  'berth://console/#/sign-in?ticket=x',
  'berth://open/sign-in',
  'berth://sign-in/of-somebody',
  `berth://sign-in/berth_${'a'.repeat(43)}?next=//evil.example`,
  `berth://sign-in/berth_${'a'.repeat(43)}/more`,
  'berth://open/sessions/../sign-in',
  `berth://open/sessions/${ID}/delete`,
  `berth://open/sessions/${ID}?endpoint=https://evil.example`,
  'berth://open/sessions/%2e%2e',
  'https://open/sessions',
  'nonsense',
])('the deep link %s is refused', link => expect(routeOfDeepLink(link)).toBeUndefined())

test('quitting asks only if something would be cut', () => {
  const nothing = { tunnels: 0, connections: 0, stack: false, uploads: null, hasEdits: false }
  expect(quitQuestion(nothing, 'en')).toBeUndefined()
  expect(quitQuestion({ ...nothing, tunnels: 2, connections: 1 }, 'en')).toContain('2 open tunnels with 1 connection ')
  expect(quitQuestion({ ...nothing, stack: true }, 'en')).toContain('services on this computer')
  expect(quitQuestion({ ...nothing, uploads: 0.429 }, 'en')).toContain('Uploads, which are at 42 %, will stop.')
  expect(quitQuestion({ ...nothing, hasEdits: true }, 'ko')).toContain('저장하지 않은')
})
