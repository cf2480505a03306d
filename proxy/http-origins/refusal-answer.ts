import { AppError, type ErrorCode, toProblem } from '#manager/contract'
import { type PageLanguage } from './page-language.ts'
import { PAGE_HEADERS, type Refusal, refusalPage, refusalText } from './pages.ts'

/** The answer to a request that does not reach the app. */
export interface RefusalAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Refusals with an error code other than `forbidden`. */
const CODES: Partial<Record<Refusal, ErrorCode>> = {
  foreign_origin: 'foreign_origin',
  unsaid_origin: 'foreign_origin',
  long_head: 'bad_request',
  raw_address: 'bad_request',
  unreadable: 'bad_request',
}
/** Refusals of clients without ticket and cookie; programs never have them. */
const OF_PROGRAMS: readonly Refusal[] = ['bad_ticket', 'no_cookie', 'other_user']
const FOR_PROGRAMS = 'For a program, open a port of its own: berth app SESSION tcp-PORT.'

/**
 * A page for a browser that shows one, and a problem document (RFC 9457) for every other client.
 *
 * @param accept of the request
 */
export function refusalAnswer(reason: Refusal, accept: string | undefined, language: PageLanguage): RefusalAnswer {
  const why = [refusalText(reason), ...(OF_PROGRAMS.includes(reason) ? [FOR_PROGRAMS] : [])].join(' ')
  const problem = toProblem(new AppError(CODES[reason] ?? 'forbidden', { why, reason }))
  const status = reason === 'long_head' ? 431 : problem.status
  if (accept?.toLowerCase().includes('text/html'))
    return { status, headers: PAGE_HEADERS, body: refusalPage(reason, language) }
  const headers = { ...PAGE_HEADERS, 'content-type': 'application/problem+json' }
  return { status, headers, body: JSON.stringify({ ...problem, status }) }
}
