import { pipeline } from 'node:stream/promises'
import type { SessionId } from '#manager/contract'
import { AppError, isAppError } from '#manager/contract/light'
import { connectApp, type TunnelStream } from '#proxy/connect-app'
import { type Access, keypairOf } from '../config/access.ts'
import { isSameServer } from '../config/loopback-name.ts'
import { plainFetch } from './plain-fetch.ts'
import { NO_ANSWER, START_MS } from './reach.ts'

/** Options of `berth stdio`, as the Host block names them. */
export interface StdioFlags {
  readonly configDir?: string | undefined
  readonly endpoint?: string | undefined
  readonly keypair?: boolean | undefined
}

/**
 * Makes this process use the Berth and the credentials that the Host block was written for.
 *
 * Threat model: an access token of the environment is good for the Berth that BERTH_ENDPOINT names. It never goes to the server of a block
 * because of that block.
 *
 * @throws AppError `not_signed_in` if the keypair of the block is not in the environment, or the token there is for another Berth
 */
export function applyStdioFlags({ configDir, endpoint, keypair }: StdioFlags): void {
  if (configDir !== undefined) process.env.BERTH_CONFIG_DIR = configDir
  const { BERTH_TOKEN: token, BERTH_ENDPOINT: chosen } = process.env
  if (endpoint !== undefined && token && chosen && !isSameServer(chosen, endpoint)) {
    const why = `This Host block leads to ${endpoint}, and BERTH_TOKEN is for ${chosen}. Unset both where ssh runs, or set them for ${endpoint}.`
    throw new AppError('not_signed_in', { why })
  }
  if (endpoint !== undefined && !token) process.env.BERTH_ENDPOINT = endpoint
  if (keypair && !keypairOf(process.env)) {
    const why = 'This Host block was made with a keypair: set BERTH_ACCESS_KEY and BERTH_SECRET_KEY where ssh runs.'
    throw new AppError('not_signed_in', { why })
  }
}

export interface StdioTarget {
  readonly sessionId: SessionId
  readonly app?: string | undefined
}

/** Carries standard input and output to an app of a session, until both directions have ended. @throws AppError */
export async function carryStdio(
  access: Pick<Access, 'endpoint' | 'credentials'>,
  { sessionId, app = 'sshd' }: StdioTarget,
): Promise<void> {
  const { endpoint, credentials } = access
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new AppError('unavailable', { why: NO_ANSWER })), START_MS)
  const opened = { managerUrl: endpoint, fetch: plainFetch, credentials, sessionId, app, limit: limit.signal }
  const stream = await connectApp(opened).finally(() => clearTimeout(timer))
  const directions = [pipeline(process.stdin, stream), pipeline(stream, process.stdout, { end: false })]
  await Promise.all(directions).catch((error: unknown) => {
    throw new AppError('tunnel_failed', { why: reasonOf(stream) }, { cause: error })
  })
}

/** Explains a cut connection; Node's own texts are meant for programmers ("Premature close", "read ECONNRESET"). */
function reasonOf({ errored, outcome, readableDidRead }: TunnelStream): string {
  if (outcome.reason === 'session_ended') return 'The session has ended.'
  if (isAppError(errored)) return errored.message
  return readableDidRead ? CUT : NO_ANSWER
}

const CUT =
  'The connection to the session was cut: the session has ended, or the network failed. Check with `berth session ls`.'
