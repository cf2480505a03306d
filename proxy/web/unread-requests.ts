import { type Server } from 'node:http'
import { AppError, toProblem } from '#manager/contract'
import { answerUnread } from '../http/unread-requests.ts'
import { CONTENT_SECURITY_POLICY, SECURITY_HEADERS } from './security-headers.ts'

/**
 * Answers requests that Node's parser refuses before there is a request object.
 *
 * A head above MAX_HEADER_BYTES usually has too many cookies: browsers send those of every program at a host name to every port
 * of it, and any of these programs can set more than a server reads. Node would answer 431 without an explanation, for ever.
 * This answer has the browser delete the cookies of the host name (`Clear-Site-Data`, which browsers follow over https and at
 * loopback names), and says what happened. A program that planted the cookies could have deleted them itself, so an attacker
 * gains nothing.
 */
export function answerUnreadRequests(server: Server): void {
  answerUnread(server, code => (code === 'HPE_HEADER_OVERFLOW' ? tooManyCookies() : problem(code)))
}

function problem(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return head('408 Request Timeout', 'text/plain', 0)
  const body = JSON.stringify(toProblem(new AppError('bad_request', { why: 'The request is not valid HTTP.' })))
  return head('400 Bad Request', 'application/problem+json', body.length) + body
}

function tooManyCookies(): string {
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Too many cookies · Berth</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}</style>
</head><body><main><h1>This browser sent too many cookies</h1>
<p>Other programs at the same host name have set more cookies than Berth reads. Berth has told the browser to delete the cookies of this host name, which signs out of programs at its other ports as well.</p>
<p><a href="/">Load Berth again</a>, and sign in.</p>
<p>If this page comes back, delete the cookies of this address in the settings of the browser.</p></main></body></html>
`
  return (
    head('431 Request Header Fields Too Large', 'text/html; charset=utf-8', Buffer.byteLength(body), {
      'clear-site-data': '"cookies"',
      'content-security-policy': CONTENT_SECURITY_POLICY,
    }) + body
  )
}

function head(status: string, type: string, length: number, more: Readonly<Record<string, string>> = {}): string {
  const fields = {
    ...SECURITY_HEADERS,
    ...more,
    'content-type': type,
    'content-length': String(length),
    'cache-control': 'no-store',
    connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`
}
