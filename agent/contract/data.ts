import { z } from 'zod'
import { CommandId, KernelId, TextOf, TextUpTo } from '#manager/contract'
import { ImageDigest } from './image-transfer.ts'

/** `GET /agent/v1/data` with `Upgrade: berth-data`: a parked socket on which the manager later sends one DataHeader. */
export const DATA_UPGRADE = 'berth-data'
export const DATA_PATH = '/agent/v1/data'

/**
 * If the manager has proven its identity, both ends prove that they know the data token, and neither sends it: an attacker
 * who has taken the port of a manager that just crashed learns nothing, and can open no terminal.
 *
 *     authorization: Berth <SHA-256 of the token>.<HMAC of the agent's nonce>      x-berth-agent-nonce: …
 *     101 …          x-berth-proof: <HMAC of the same nonce, for the other side>
 *
 * HMAC-SHA-256 under the token; all base64url.
 */
export const DATA_SCHEME = 'Berth'
export const DATA_PROOF_HEADER = 'x-berth-proof'

/** Input of the HMAC, UTF-8. */
export function dataProofPayload(side: 'agent' | 'manager', nonce: string): string {
  return `berth.data.v1\n${side}\n${nonce}`
}

/**
 * Header with which the manager takes a parked socket: one line of JSON, ended by LF, at most 8 KiB. The WebSocket stream of
 * the client follows on the socket; its server end is the agent. The manager has answered the client's upgrade already.
 */
export const DataHeader = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('app'),
    kernelId: KernelId,
    app: TextUpTo(200),
    /** True with `berth.tunnel.v1` and `berth.tunnel.v2`, false for foreign clients. */
    framed: z.boolean(),
    /** True with `berth.tunnel.v2`: the wire serves several connections one after the other. */
    lasting: z.boolean().optional(),
    /** The nonce of a client that asks for the direct path (ADR 41). An agent that offers none opens the tunnel as usual. */
    direct: TextUpTo(1_000).optional(),
  }),
  z.object({
    kind: z.literal('terminal'),
    kernelId: KernelId,
    /** tmux session; two windows on the same name share a shell. */
    name: TextOf(32, /^[a-z0-9-]{1,32}$/),
    cols: z.int().min(1).max(1000),
    rows: z.int().min(1).max(1000),
  }),
  /** The streams of an attached command, in the frames of `manager/contract/sessions/command-stream.ts`. */
  z.object({ kind: z.literal('command'), kernelId: KernelId, commandId: CommandId }),
  /** The receiver of this agent gets its image over the socket. Older agents end it. */
  z.object({ kind: z.literal('take_image'), transferId: z.uuid() }),
  /** This agent gives the image with this id (sha256:…), and nothing else. */
  z.object({ kind: z.literal('give_image'), id: ImageDigest }),
])
export type DataHeader = z.infer<typeof DataHeader>
