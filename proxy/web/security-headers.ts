/**
 * Policy that is sent with every page of the console. Scripts come from our own files only; Vuetify and xterm set styles from
 * script, which needs the style exceptions; no page may frame the console (clickjacking). The built page repeats the policy
 * (build/vite-csp.ts), except for frame-ancestors, which browsers accept from a header only.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
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

/** Headers of every answer that the console itself gives. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const
