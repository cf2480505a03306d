import { createHash } from 'node:crypto'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * The host name of an app of a session: `<app>--<12 base32 characters>.localhost`. Every session and app is
 * an origin and a site of its own, so that cookies, storage and service workers of one are closed to the others. Browsers
 * resolve `*.localhost` to loopback themselves.
 *
 * The characters come from a hash: the first bits of a UUIDv7 are a clock and alike in sessions of the same hour. The name is
 * not a secret.
 *
 * @param seed server and id of the session, or a text of one tunnel
 */
export function hostNameOf(app: string, seed: string): string {
  return `${app}--${base32(createHash('sha256').update(seed).digest()).slice(0, 12)}.localhost`
}

function base32(bytes: Uint8Array): string {
  let bits = 0
  let held = 0
  let text = ''
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xffff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32.charAt((held >> bits) & 31)
    }
  }
  return text
}
