import { createHmac, randomBytes } from 'node:crypto'

/** Signatures of the Standard Webhooks, which receivers check with a library of their language. https://www.standardwebhooks.com */
const PREFIX = 'whsec_'
/** Between the 24 and 64 bytes that the specification asks for. */
const KEY_BYTES = 32

export const newSecret = (): string => PREFIX + randomBytes(KEY_BYTES).toString('base64')

export interface SignedMessage {
  /** Header `webhook-id`; holds no full stop. */
  readonly id: string
  /** Header `webhook-timestamp`: seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/** @param secrets the present one, and the one before while it is still valid @returns the value of `webhook-signature` */
export function signatureOf({ id, timestamp, body }: SignedMessage, secrets: readonly string[]): string {
  return secrets
    .map(secret => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
    })
    .join(' ')
}
