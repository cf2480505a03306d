import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Socket } from 'node:net'
import { AGENT_NONCE_HEADER, DATA_PROOF_HEADER, DATA_SCHEME, dataProofPayload } from '#agent/contract'
import { readLine } from './header-reader.ts'

/** Credential for further connections to a manager that has accepted this agent on the control connection. */
export interface Credential {
  /** Token of the control connection; expires with it. */
  readonly dataToken: string
  /** True if the manager has proven its identity on the control connection; it then does so again here. */
  readonly proven: boolean
}

export interface UpgradeRequest {
  readonly url: URL
  readonly path: string
  readonly protocol: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Asks a manager to upgrade a connection from HTTP to another protocol. Threat model: a manager that was proven on the control
 * connection proves its identity here too, and the token is not sent, so an attacker who takes the port of a crashed manager
 * gets nothing.
 *
 * @param socket connected; left paused, at the first byte after the answer
 *
 * @param done called once, with whether the upgrade was accepted
 */
export function requestUpgrade(
  socket: Socket,
  { url, path, protocol, headers = {} }: UpgradeRequest,
  credential: Credential,
  done: (accepted: boolean) => void,
): void {
  const { authorization, expected } = introduction(credential)
  const lines = [
    `GET ${url.pathname.replace(/\/$/, '')}${path} HTTP/1.1`,
    `Host: ${url.host}`,
    'Connection: Upgrade',
    `Upgrade: ${protocol}`,
    authorization,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  readUpgrade(socket, expected, done)
}

/** Header lines that identify this agent, and the proof expected from the genuine manager. */
function introduction({ dataToken, proven }: Credential): { authorization: string; expected: Buffer | undefined } {
  if (!proven) return { authorization: `Authorization: Bearer ${dataToken}`, expected: undefined }
  const nonce = randomBytes(16).toString('base64url')
  const id = createHash('sha256').update(dataToken).digest('base64url')
  const mac = (side: 'agent' | 'manager') =>
    createHmac('sha256', dataToken).update(dataProofPayload(side, nonce)).digest()
  const proof = mac('agent').toString('base64url')
  return {
    authorization: `Authorization: ${DATA_SCHEME} ${id}.${proof}\r\n${AGENT_NONCE_HEADER}: ${nonce}`,
    expected: mac('manager'),
  }
}

const PROOF_LINE = new RegExp(`^${DATA_PROOF_HEADER}:\\s*(\\S+)`, 'i')

function equal(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Reads the answer to the upgrade line by line: a parked socket's header may arrive in the same packet as the 101. */
function readUpgrade(socket: Socket, expected: Buffer | undefined, done: (accepted: boolean) => void): void {
  let status: string | undefined
  let isProven = expected === undefined
  const next = () =>
    readLine(socket, line => {
      if (line === undefined) {
        done(false)
        return
      }
      status ??= line
      const proof = PROOF_LINE.exec(line)?.[1]
      if (expected && proof !== undefined) isProven = equal(Buffer.from(proof, 'base64url'), expected)
      if (line !== '' && line !== '\r') {
        next()
        return
      }
      done(isProven && /^HTTP\/1\.1 101 /.test(status))
    })
  next()
}
