import { type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import { toProblem } from '#manager/contract'
import { answerRaw } from '../http/raw-answer.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const PROBLEM_TYPE = 'application/problem+json'

/** Sends an RFC 9457 problem document. */
export function answerProblem(response: ServerResponse, error: unknown): void {
  const problem = toProblem(error)
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(problem.status, {
    ...SECURITY_HEADERS,
    'content-type': PROBLEM_TYPE,
    'cache-control': 'no-store',
    ...(problem.retry ? { 'retry-after': '1' } : {}),
  })
  response.end(JSON.stringify(problem))
}

export function answerProblemRaw(socket: Duplex, error: unknown): void {
  const problem = toProblem(error)
  answerRaw(socket, { status: problem.status, type: PROBLEM_TYPE, body: JSON.stringify(problem) })
}

export function answerJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(value))
}
