/** Vuetify and xterm.js write style elements and attributes at run time; scripts are our own files only. The same as that of the web proxy. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self' 'wasm-unsafe-eval'",
  'style-src-elem': "'self' 'unsafe-inline'",
  'style-src-attr': "'unsafe-inline'",
  'img-src': "'self' data: blob:",
  'media-src': 'blob:',
  'frame-src': 'blob:',
  'font-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
}

/** Headers of every answer of the console's scheme. */
export const SECURITY_HEADERS = {
  'content-security-policy': Object.entries(POLICY)
    .map(([name, value]) => `${name} ${value}`)
    .join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const
