import { z } from 'zod'
import { AgentId, AppError } from '#manager/contract'

const PREFIX = 'berth-join:'

export const JoinInvitation = z.object({
  url: z.url({ protocol: /^https?$/ }),
  token: z.string().min(1),
  /** The id that the agent gets when it joins; the manager made it. */
  agentId: AgentId.optional(),
  /** The agent that the joining agent replaces: its id and containers stay. */
  replaces: AgentId.optional(),
  /** SHA-256 of the server's public key (SPKI), hexadecimal; pins an https server whose certificate no authority vouches for. */
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** SHA-256 of the key with which the managers prove their identity (SPKI), hexadecimal. */
  managerKey: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
})
export type JoinInvitation = z.infer<typeof JoinInvitation>

/** @throws `config_invalid` */
export function parseJoinString(text: string): JoinInvitation {
  const body = text.trim()
  if (body.startsWith(PREFIX)) {
    try {
      return JoinInvitation.parse(JSON.parse(Buffer.from(body.slice(PREFIX.length), 'base64url').toString('utf8')))
    } catch (error) {
      throw new AppError(
        'config_invalid',
        { why: 'The join string is not complete. Copy all of it again.' },
        { cause: error },
      )
    }
  }
  throw new AppError('config_invalid', {
    why: 'A join string starts with "berth-join:"; `berth admin agent join-token` makes one.',
  })
}

/**
 * Requires TLS beyond loopback: without it, the token and every session's traffic would be readable on the way.
 * @throws `config_invalid`
 */
export function requireSafeUrl(url: string): URL {
  const parsed = new URL(url)
  if (parsed.protocol === 'https:') return parsed
  if (isOnThisMachine(parsed)) return parsed
  throw new AppError('config_invalid', { why: `${url} is not encrypted. Use https, or http on this machine only.` })
}

export function isOnThisMachine({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
