/**
 * Policy that is sent with every page of the console. Scripts come from our own files only; Vuetify and xterm set styles from
 * script, which needs the style exceptions; no page may frame the console (clickjacking). The built page repeats the policy
 * (build/vite-csp.ts), except for frame-ancestors, which browsers accept from a header only.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src-elem 'self' 'unsafe-inline'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'media-src blob:',
  'frame-src blob:',
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Policy of the worker that hashes uploads: a worker has the policy that comes with its script, not that of the page.
 * `wasm-unsafe-eval` compiles WebAssembly, no JavaScript.
 */
const HASH_WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"

/** @param fileName of the built page, without folders */
export function policyOf(fileName: string): string {
  return /^hash-worker-[\w-]+\.js$/.test(fileName) ? HASH_WORKER_POLICY : CONTENT_SECURITY_POLICY
}

/** Headers of every answer that the console itself gives. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const
