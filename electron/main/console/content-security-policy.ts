/** Vuetify and xterm.js write style elements and attributes at run time; scripts are our own files only. The same as that of the web proxy. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
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

/** The worker that hashes uploads gets its policy with its script: it compiles WebAssembly. The same as that of the web proxy. */
const HASH_WORKER = { 'default-src': "'none'", 'script-src': "'self' 'wasm-unsafe-eval'" }

/** The answer of a server may be a page that attacks its reader, so it must not run or load anything, whatever policy it comes with. */
const ANSWER = { sandbox: '', 'default-src': "'none'", 'frame-ancestors': "'none'" }

function policyOf(path: string): Readonly<Record<string, string>> {
  if (path.startsWith('/api/')) return ANSWER
  return /^\/assets\/hash-worker-[\w-]+\.js$/.test(path) ? HASH_WORKER : POLICY
}

/** Headers of every answer of the console's scheme. @param path of the request */
export function securityHeaders(path: string): Record<string, string> {
  return {
    'content-security-policy': Object.entries(policyOf(path))
      .map(([name, value]) => `${name} ${value}`.trim())
      .join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
}
