import { type IncomingMessage, type ServerResponse } from 'node:http'
import { basename, extname, join, resolve, sep } from 'node:path'
import { codingsOf, namesEtag } from '#base/http-fields'
import { AppError } from '#manager/contract'
import { sendBytes } from '../http/send-bytes.ts'
import { type Log } from '../log.ts'
import { answerProblem } from './answers.ts'
import { type CachedFile, createFileCache } from './file-cache.ts'
import { CONTENT_SECURITY_POLICY, policyOf, SECURITY_HEADERS } from './security-headers.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
}

/** Content codings that the build creates (`build/vite-compress.ts`), smaller first. */
const CODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

interface Found extends CachedFile {
  readonly path: string
}

/**
 * Serves the built console. Files of the folder only: the path is decoded once and resolved, and a path outside the folder does
 * not exist. Browsers that ask for an unknown path without an extension are led to the page of that name (`/sessions` to `/#/sessions`). Files below `assets/` carry a hash in
 * their name and never change; all others are revalidated. If the build made a compressed copy that the browser accepts, the
 * copy is sent. Ranges are not supported: the whole file is sent, as RFC 9110 section 14.2 allows.
 *
 * This is own code rather than sirv for the reasons in `proxy/README.md`, "Files of the console".
 */
export function createStaticFiles(directory: string, log: Log) {
  const root = resolve(directory)
  const cache = createFileCache()

  async function find(path: string | undefined): Promise<Found | undefined> {
    if (path === undefined) return undefined
    const full = resolve(root, `.${path.endsWith('/') ? `${path}index.html` : path}`)
    if (!full.startsWith(root + sep)) return undefined
    const found = await cache.read(full)
    return found && { ...found, path: full }
  }

  return async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      answerProblem(response, new AppError('not_found', { why: 'This address serves only GET and HEAD requests.' }))
      return
    }
    try {
      const path = pathOf(request.url ?? '/')
      const found = await find(path)
      if (found) await send(request, response, found)
      else if ((await find('/index.html')) === undefined) sendMissingBuild(response)
      else if (isPageOf(request, path)) leadToPage(request, response)
      else answerProblem(response, new AppError('not_found', { why: 'The file does not exist.' }))
    } catch (error) {
      log.error({ error: String(error) }, 'a file of the console could not be read')
      answerProblem(
        response,
        new AppError('unavailable', { why: 'The console cannot read its own files. Its log has the cause.' }),
      )
    }
  }

  async function send(request: IncomingMessage, response: ServerResponse, found: Found) {
    const { bytes, coding } = await encode(found, request.headers['accept-encoding'])
    const isHashed = found.path.startsWith(join(root, 'assets') + sep)
    const etag = `"${found.bytes.length.toString(36)}-${Math.trunc(found.modifiedMs).toString(36)}${coding ? `-${coding}` : ''}"`
    const headers = {
      ...SECURITY_HEADERS,
      'content-security-policy': policyOf(basename(found.path)),
      'content-type': TYPES[extname(found.path)] ?? 'application/octet-stream',
      'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'Accept-Encoding',
      etag,
      ...(coding ? { 'content-encoding': coding } : {}),
    }
    if (namesEtag(request.headers['if-none-match'], etag)) {
      response.writeHead(304, headers).end()
      return
    }
    response.writeHead(200, { ...headers, 'content-length': bytes.length })
    if (request.method === 'HEAD') response.end()
    else await sendBytes(response, bytes)
  }

  /** The compressed copy that the browser accepts; a copy older than its file belongs to an earlier build. */
  async function encode(found: Found, accepted: string | undefined) {
    const taken = codingsOf(accepted)
    for (const { name, suffix } of CODINGS) {
      const copy = taken.has(name) ? await cache.read(found.path + suffix) : undefined
      if (copy && copy.modifiedMs >= found.modifiedMs) return { bytes: copy.bytes, coding: name }
    }
    return { bytes: found.bytes, coding: undefined }
  }
}

/** Decoded path of a request target; undefined for a target that is not the path of a file. */
function pathOf(target: string): string | undefined {
  try {
    const path = decodeURIComponent(target.split(/[?#]/, 1)[0] ?? '')
    return path.startsWith('/') && !path.includes('\0') && !path.includes('\\') ? path : undefined
  } catch {
    return undefined
  }
}

function sendMissingBuild(response: ServerResponse) {
  response.writeHead(503, {
    ...SECURITY_HEADERS,
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
  })
  response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Berth: the console is not built</title>
<body><main><h1>The console is not built yet</h1>
<p>Run <code>npm run build</code> in the folder of Berth, then load this page again. The API at <code>/api/v1</code> already works.</p></main></body></html>
`)
}

/**
 * Whether a browser opens a page address without `#`, as from an old bookmark. A program with a wrong base address (`/sessions` for
 * `/api/v1/sessions`) must not take the page for an answer: it asks for no HTML, or shows a credential.
 */
function isPageOf({ headers }: IncomingMessage, path: string | undefined): boolean {
  const isBrowser = headers.accept?.includes('text/html') === true && headers.authorization === undefined
  return isBrowser && extname(path ?? '') === ''
}

/** Redirects to the page's form of the address, with `#`: only from there are its files found, also below a path of a reverse proxy. */
function leadToPage({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  const path = `/${url.replace(/^\/+/, '')}`
  const { length } = path.replace(/[?#].*/, '').split('/')
  const location = `${'../'.repeat(length - 2) || './'}#${path}`
  response.writeHead(302, { ...SECURITY_HEADERS, location, 'cache-control': 'no-store' }).end()
}
