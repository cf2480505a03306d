import { expect, test } from 'vitest'
import { CONTENT_SECURITY_POLICY as OF_THE_PAGE } from '../../../build/vite-csp.ts'
import { securityHeaders } from '../../../electron/main/console/content-security-policy.ts'
import { CONTENT_SECURITY_POLICY as OF_THE_WEB_PROXY, policyOf } from '../../../proxy/web/security-headers.ts'

/** Browsers ignore frame-ancestors in the page itself. */
const directives = (policy: string) => policy.split('; ').filter(directive => !directive.startsWith('frame-ancestors'))

const ofTheDesktopApp = (path: string) => securityHeaders(path)['content-security-policy'] ?? ''

test.each([
  ['web proxy', OF_THE_WEB_PROXY],
  ['desktop app', ofTheDesktopApp('/index.html')],
])('the %s sends the content security policy of the built page', (_host, policy) => {
  expect(directives(policy).toSorted()).toEqual(directives(OF_THE_PAGE).toSorted())
  expect(policy).toContain("frame-ancestors 'none'")
})

test('only the worker that hashes uploads may compile WebAssembly', () => {
  const worker = 'hash-worker-C6TZVkT7.js'
  expect(policyOf(worker)).toContain("'wasm-unsafe-eval'")
  expect(ofTheDesktopApp(`/assets/${worker}`)).toBe(policyOf(worker))
  for (const name of ['index.html', 'first-a.js', 'hash-worker.html', 'x-hash-worker-a.js', 'hash-worker-a.js.map']) {
    expect(policyOf(name)).not.toContain('wasm')
    expect(ofTheDesktopApp(`/assets/${name}`)).not.toContain('wasm')
  }
})
