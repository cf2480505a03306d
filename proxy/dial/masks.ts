import { randomFillSync } from 'node:crypto'
import { createRequire } from 'node:module'
import { type Socket } from 'node:net'
import { type ApplyMask, type MaskKey, ZERO_MASK } from '#manager/contract/light'

/** XORs in place; native where bufferutil has a binary for this platform, its own JavaScript otherwise. */
export const applyMask = (createRequire(import.meta.url)('bufferutil') as { unmask: ApplyMask }).unmask

/**
 * Chooses the WebSocket mask. Masking exists so that a hostile page cannot make an intermediary take bytes of its choice for
 * HTTP (RFC 6455, section 10.3). Inside TLS and on loopback there is no such intermediary, so the key is zero and the payload
 * stays unchanged.
 */
export function maskingFor(wire: Socket): () => MaskKey {
  return 'encrypted' in wire || isLoopback(wire.remoteAddress) ? zeroMask : randomMask
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::1$|(::ffff:)?127\.)/.test(address)
}

const zeroMask = () => ZERO_MASK

const pool = new Uint8Array(8192)
let used = pool.length

function randomMask(): MaskKey {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 4
  return pool.subarray(used - 4, used)
}
