/** Exports for processes with an end of a tunnel, and the socket reader that the manager's splice also uses. */
export { FrameDecoder, FrameError } from './frame-decoder.ts'
export { HoldingSocket } from './holding-socket.ts'
export { readOnAfterReset } from './read-on.ts'
export { readSteadily } from './steady-reader.ts'
export { TICK_MS, TunnelBeats } from './tunnel-beats.ts'
export { broken, TunnelDuplex } from './tunnel-duplex.ts'
export { TunnelEnd } from './tunnel-end.ts'
export { type Lasting, type TunnelEndOptions, type TunnelOutcome, type TunnelSocket } from './tunnel-end-options.ts'
