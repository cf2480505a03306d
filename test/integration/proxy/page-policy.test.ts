import { expect, test } from 'vitest'
import { CONTENT_SECURITY_POLICY as OF_THE_PAGE } from '../../../build/vite-csp.ts'
import { SECURITY_HEADERS } from '../../../electron/main/console/content-security-policy.ts'
import { CONTENT_SECURITY_POLICY as OF_THE_WEB_PROXY } from '../../../proxy/web/security-headers.ts'

/** Browsers ignore frame-ancestors in the page itself. */
const directives = (policy: string) => policy.split('; ').filter(directive => !directive.startsWith('frame-ancestors'))

test.each([
  ['web proxy', OF_THE_WEB_PROXY],
  ['desktop app', SECURITY_HEADERS['content-security-policy']],
])('the %s sends the policy that the built page has', (_host, policy) => {
  expect(directives(policy).toSorted()).toEqual(directives(OF_THE_PAGE).toSorted())
  expect(policy).toContain("frame-ancestors 'none'")
})
