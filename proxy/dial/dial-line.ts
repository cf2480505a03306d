import { type Socket } from 'node:net'
import { DIRECT_HEADER } from '#manager/contract/light'
import { dialTunnel, type DialOptions } from './dial.ts'
import { type DirectPath } from './direct-path.ts'
import { type FirstFrame, takeOffer } from './first-text.ts'
import { DirectWire } from './direct-wire.ts'

/** A direct connection to the app, together with the wire on which it depends (ADR 41). */
export class DirectLine {
  readonly directWire: DirectWire
  readonly service: Socket

  constructor(directWire: DirectWire, service: Socket) {
    this.directWire = directWire
    this.service = service
  }

  /** The connection without its wire; the wire ends with it. */
  stream(): Socket {
    this.service.once('close', () => this.directWire.close())
    return this.service
  }

  destroy(): void {
    this.directWire.close()
  }
}

/** A dialled connection to an app: a wire, through manager and agent, or a direct one. */
export type Line = Socket | DirectLine

/** An agent that offers the direct path answers at once; one that does not may have to start the app first. */
const OFFER_MS = 2_000

/**
 * Like `dialTunnel`, but takes the direct path if the agent offers it and the app answers there. Otherwise the agent connects to the app,
 * and starts it if necessary.
 */
export async function dialLine(options: DialOptions, direct?: DirectPath): Promise<Line> {
  const ask = direct?.ask(options.sessionId, options.app)
  if (!ask) return await dialTunnel(options)
  const { signal, headers } = options
  const wire = await dialTunnel({ ...options, headers: { ...headers, [DIRECT_HEADER]: ask.nonce } })
  let first: FirstFrame
  try {
    first = await takeOffer(wire, { signal, waitMs: OFFER_MS })
  } catch (error) {
    wire.on('error', () => undefined).destroy()
    throw error
  }
  if (first.kind === 'other') {
    ask.declined()
    return wire
  }
  const address = first.kind === 'offer' ? ask.addressIn(first.text) : undefined
  if (address) {
    const directWire = new DirectWire(wire, address)
    const service = await directWire.connect(signal)
    if (service) return new DirectLine(directWire, service)
    directWire.close()
    signal?.throwIfAborted()
  } else {
    // Nobody has opened a tunnel on this wire.
    ask.declined()
    wire.on('error', () => undefined).destroy()
  }
  return await dialTunnel(options)
}
