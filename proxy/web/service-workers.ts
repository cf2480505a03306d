import { type IncomingMessage, type ServerResponse } from 'node:http'
import { SECURITY_HEADERS } from './security-headers.ts'

/** Ends the worker in which it runs, and reloads the worker's pages. */
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
 * in our place from then on. A browser requests the worker's script again at each visit (a cacheable one after a day), bypassing the
 * worker, whatever the script's path. Our own page has no worker (ADR 73).
 *
 * @returns whether it was such a request
 */
export function endServiceWorker({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  if (method !== 'GET' || headers['service-worker'] !== 'script') return false
  // The header allows ending a worker of a higher path too.
  const own = {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-store',
    'service-worker-allowed': '/',
  }
  response.writeHead(200, { ...SECURITY_HEADERS, ...own, 'content-length': Buffer.byteLength(END) }).end(END)
  return true
}
