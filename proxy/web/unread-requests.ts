import { type Server } from 'node:http'
import { parserFault } from '#base/parser-fault'
import { AppError, toProblem } from '#manager/contract'
import { answerUnread } from '../http/unread-requests.ts'
import { longHeadPage } from './long-heads.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/**
 * Answers requests that Node's parser refuses before there is a request object. If a head is too long even to be parsed, neither its sender
 * nor the share of its cookies is known, so the answer deletes no cookies (`long-heads.ts`).
 */
export function answerUnreadRequests(server: Server): void {
  answerUnread(server, ({ code }) => (code === 'HPE_HEADER_OVERFLOW' ? tooLong() : problem(code)))
}

function problem(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return head('408 Request Timeout', OWN, 'text/plain', 0)
  const body = JSON.stringify(toProblem(new AppError('bad_request', { why: parserFault(code) })))
  return head('400 Bad Request', OWN, 'application/problem+json', body.length) + body
}

function tooLong(): string {
  const { headers, body } = longHeadPage('unread')
  const text = body('en')
  return (
    head('431 Request Header Fields Too Large', headers, 'text/html; charset=utf-8', Buffer.byteLength(text)) + text
  )
}

const OWN = { ...SECURITY_HEADERS, 'cache-control': 'no-store', connection: 'close' }

function head(status: string, more: Readonly<Record<string, string>>, type: string, length: number): string {
  const fields = { ...more, 'content-type': type, 'content-length': String(length) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`
}
