import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { directPayload, type DirectAddress, parseDirectOffer } from '#manager/contract/light'

/** A question for the direct path to one app, sent with the dial of a wire. */
export interface DirectAsk {
  readonly nonce: string
  /** The address that the first text of the agent names; undefined unless it is an offer with the right MAC for this question. */
  addressIn(text: string): DirectAddress | undefined
  /** Call if the agent opened the tunnel as usual, or offered an unusable address: it is not asked again for a while. */
  declined(): void
}

export interface DirectPath {
  /** Undefined while the agent is known to offer none for this app. */
  ask(sessionId: string, app: string): DirectAsk | undefined
}

/**
 * Pause before an agent that declined is asked again. An app on the loopback of its container, or on another computer, stays there, and
 * asking costs each new wire a round trip.
 */
const ASK_AGAIN_MS = 60_000
const MAX_REMEMBERED = 1000

/**
 * The proxy's side of the direct path (ADR 41): which places it may connect to.
 *
 * Threat model: an agent is trusted with its own sessions only (ADR 18), and an agent on another computer is no part of this one. So the
 * proxy does not connect to an address just because somebody names it. It connects only if the MAC shows that the agent of the same `berth
 * up` has named this address for this session, this app and this question; `berth up` gives the key to both at each start, by their
 * environment, and to nobody else.
 *
 * - An agent elsewhere, or a manager, cannot make such a MAC. If it passes on one that it got from the agent here through a tunnel of its
 *   own, the MAC is for the session of that tunnel, so it does not fit.
 * - An old offer does not fit: the nonce is new for each wire.
 * - Another user of this computer cannot read the environment, and the firewall lets only root and the agent's user connect to containers.
 *   Whoever runs programs as that user could connect to the containers without us.
 * - Who may use the app is decided as ever: by the manager, when the wire is opened, and for as long as the wire is open.
 */
export function createDirectPath(key: string, now: () => number = () => performance.now()): DirectPath {
  const declinedUntil = new Map<string, number>()
  return {
    ask(sessionId, app) {
      const name = `${sessionId}/${app}`
      if ((declinedUntil.get(name) ?? 0) > now()) return undefined
      const nonce = randomBytes(16).toString('base64url')
      return {
        nonce,
        addressIn(text) {
          const offer = parseDirectOffer(text)
          if (!offer || !isIPv4(offer.host) || offer.port < 1 || offer.port > 65_535) return undefined
          const { mac, ...address } = offer
          const expected = createHmac('sha256', key)
            .update(directPayload({ nonce, sessionId, app, ...address }))
            .digest()
          const sent = Buffer.from(mac, 'base64url')
          return sent.length === expected.length && timingSafeEqual(sent, expected) ? address : undefined
        },
        declined() {
          if (declinedUntil.size >= MAX_REMEMBERED) declinedUntil.clear()
          declinedUntil.set(name, now() + ASK_AGAIN_MS)
        },
      }
    },
  }
}
