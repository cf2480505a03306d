import diagnostics from 'node:diagnostics_channel'
import { define } from './old-javascript.ts'

/**
 * The one list of what the Electron of the tests (25: Node 18, Chromium 114) differs in from the shipped one, and what stands in
 * for it. Loaded before the bundle of the main process; the preload script and the page run as they were built, after `old-javascript.ts`.
 *
 * 1. No main process of ES modules: `bundle-app.ts` bundles it as CommonJS for Node 18.
 * 2. Newer JavaScript is missing in its V8: `old-javascript.ts` adds it, in the main process and in the page.
 * 3. Its Node trusts the certificates of its own list only: what asks for those of the system (`tls.getCACertificates`) is not shown.
 * 4. Bodies of requests to our scheme that are a Blob arrive empty (until Electron 28; later they are read into memory as a whole). The page
 *    sends bytes, so nothing stands in for them.
 * 5. V8, Node, Chromium and the network stack are those of 2023: speed, memory and the look of widgets are not those of the shipped app.
 */
/** pino asks for a channel when it is loaded; nothing subscribes to it. */
define(diagnostics, 'tracingChannel', () => ({ hasSubscribers: false }))
