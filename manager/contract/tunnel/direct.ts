/**
 * The direct path (ADR 41). If proxy and agent are children of one `berth up`, the proxy may connect to an app's container itself. It
 * requests that when it opens a tunnel, with a nonce in the header DIRECT_HEADER; the manager passes the nonce on to the agent. The first
 * frame of an agent that offers the direct path is a text, and the wire then carries no connection:
 *
 *     direct HOST PORT MAC        HOST an IPv4 address, MAC = HMAC-SHA-256 of `directPayload` in base64url
 *
 * The key of the HMAC is known to that proxy and to that agent alone. Every other agent, and every earlier version, ignores the request and
 * opens the tunnel as usual.
 */
export const DIRECT_HEADER = 'x-berth-direct'
/** 16 random bytes in base64url. */
export const DIRECT_NONCE = /^[\w-]{22}$/
/** The first word of the offer. */
export const FRAME_DIRECT = 'direct '

/** The address of an app, as its agent connects to it. */
export interface DirectAddress {
  readonly host: string
  readonly port: number
}

/** The address, and the request that it answers: an offer for one session is not valid for another one. */
export interface DirectClaim extends DirectAddress {
  readonly nonce: string
  readonly sessionId: string
  readonly app: string
}

/** Input of the HMAC, UTF-8. */
export function directPayload({ nonce, sessionId, app, host, port }: DirectClaim): string {
  return JSON.stringify(['berth.direct.v1', nonce, sessionId, app, host, port])
}

export function directOffer({ host, port }: DirectAddress, mac: string): string {
  return `${FRAME_DIRECT}${host} ${port} ${mac}`
}

/** Parses an offer; undefined for any other text. The caller has to check the MAC. */
export function parseDirectOffer(text: string): (DirectAddress & { readonly mac: string }) | undefined {
  const [, host, port, mac] = /^direct (\d{1,3}(?:\.\d{1,3}){3}) (\d{1,5}) ([\w-]{43})$/.exec(text) ?? []
  if (host === undefined || mac === undefined) return undefined
  return { host, port: Number(port), mac }
}
