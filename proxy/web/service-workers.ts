import { type IncomingMessage, type ServerResponse } from 'node:http'
import { SECURITY_HEADERS } from './security-headers.ts'

/** Ends the worker in which it runs, and loads the pages anew that the worker had. */
const END = `addEventListener('install', () => skipWaiting())
addEventListener('activate', event => event.waitUntil((async () => {
  await registration.unregister()
  for (const client of await clients.matchAll({ type: 'window', includeUncontrolled: true })) void client.navigate(client.url)
})()))
`

/**
 * Answers a browser that wants the script of a service worker, with one that removes the worker.
 *
 * Threat model: while Berth is stopped, another user of the computer can show a page at our address, and leave a worker there that answers
 * in our place from then on. A browser asks for the worker's script again with each visit (for one that may be cached, after a day), past the
 * worker, whatever its path is. Our own page
 * has no worker (ADR 73).
 *
 * @returns whether it was such a request
 */
export function endServiceWorker({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  if (method !== 'GET' || headers['service-worker'] !== 'script') return false
  // The header allows a worker of a path below another one to be ended too.
  const own = {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-store',
    'service-worker-allowed': '/',
  }
  response.writeHead(200, { ...SECURITY_HEADERS, ...own, 'content-length': Buffer.byteLength(END) }).end(END)
  return true
}
