import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { answerProblem } from './answers.ts'
import { CONTENT_SECURITY_POLICY, SECURITY_HEADERS } from './security-headers.ts'
import { AppError } from '#manager/contract'

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

interface Found {
  readonly path: string
  readonly size: number
  readonly modifiedMs: number
}

/**
 * Serves the built console. Files of the folder only: the path is decoded once and resolved, and what leaves the folder
 * does not exist. Unknown paths without an extension get the page, whose router knows them. Files below `assets/` carry a
 * hash in their name and never change; everything else is asked for again.
 */
export function createStaticFiles(directory: string) {
  const root = resolve(directory)

  return async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      answerProblem(response, new AppError('not_found', { why: 'Only pages are here.' }))
      return
    }
    const path = pathOf(request.url ?? '/')
    const found = (await find(root, path)) ?? (extname(path ?? '') === '' ? await find(root, '/index.html') : undefined)
    if (!found) {
      if ((await find(root, '/index.html')) === undefined) sendMissingBuild(response)
      else answerProblem(response, new AppError('not_found', { why: 'There is no such file.' }))
      return
    }
    await send(request, response, found)
  }

  async function send(request: IncomingMessage, response: ServerResponse, found: Found) {
    const isHashed = found.path.startsWith(join(root, 'assets') + sep)
    const etag = `"${found.size.toString(36)}-${Math.trunc(found.modifiedMs).toString(36)}"`
    const headers = {
      ...SECURITY_HEADERS,
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'content-type': TYPES[extname(found.path)] ?? 'application/octet-stream',
      'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      etag,
    }
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers).end()
      return
    }
    response.writeHead(200, { ...headers, 'content-length': found.size })
    if (request.method === 'HEAD') response.end()
    // A client that goes away in the middle is no failure of ours.
    else await pipeline(createReadStream(found.path), response).catch(() => response.destroy())
  }
}

/** Decoded path of a request target; undefined for what is no path of a file. */
function pathOf(target: string): string | undefined {
  try {
    const path = decodeURIComponent(target.split(/[?#]/, 1)[0] ?? '')
    return path.startsWith('/') && !path.includes('\0') && !path.includes('\\') ? path : undefined
  } catch {
    return undefined
  }
}

async function find(root: string, path: string | undefined): Promise<Found | undefined> {
  if (path === undefined) return undefined
  const full = resolve(root, `.${path.endsWith('/') ? `${path}index.html` : path}`)
  if (!full.startsWith(root + sep)) return undefined
  const found = await stat(full).catch(() => undefined)
  return found?.isFile() ? { path: full, size: found.size, modifiedMs: found.mtimeMs } : undefined
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
<p>Run <code>npm run build</code> in the folder of Berth, then load this page again. The API below <code>/api/v1</code> works already.</p></main></body></html>
`)
}
